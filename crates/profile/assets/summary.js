// ---- head, tiles, the five lines, advice, how it was recorded ----

(() => {
  const { program, totals } = view;
  const share = percent(totals.wait_ns, totals.thread_ns);
  const name = view.title.replace(/^Locks of /, "");
  byId("brand").textContent = view.title;
  const unseen = view.recorded && totals.acquisitions === 0 && totals.locks === 0 && view.awaited.length === 0;
  const ofLocks = view.recorded || view.live;
  const waiting = ofLocks ? "waiting for locks" : "asleep in futex calls";
  byId("title").textContent = view.deadlock
    ? `${name}: deadlock, ${view.deadlock}`
    : totals.wait_ns > 0
      ? `${name}: threads spent ${share} of their time ${waiting}`
      : unseen
        ? `${name}: it took no lock that is seen this way`
        : `${name}: no thread waited for a lock`;
  byId("subtitle").append(
    element("code", {}, program.command),
    ofLocks ? ` on the locks “${program.policy}”, ` : " by the kernel’s futex calls, ",
    program.machine,
  );

  const hot = totals.wait_ns > 0.05 * totals.thread_ns;
  const acquisitions = plural(totals.acquisitions, "acquisition", "acquisitions");
  const sites = plural(totals.sites, "call site", "call sites");
  const tiles = [
    [time(totals.wait_ns), ofLocks ? "waited for locks, all threads" : "asleep in futex calls, all threads", hot],
    [share, "of the threads’ time", hot],
    view.recorded && (totals.acquisitions > 0 || totals.waits === 0)
      ? [percent(totals.contended, totals.acquisitions), `of ${acquisitions} contended`, false]
      : ofLocks
        ? [count(totals.waits), totals.waits === 1 ? "wait for a lock" : "waits for locks", false]
        : [count(totals.contended), totals.contended === 1 ? "wait in a futex call" : "waits in futex calls", false],
    [time(totals.longest_ns), "longest wait", false],
    [count(totals.locks), `${totals.locks === 1 ? "lock" : "locks"}, ${sites}`, false],
    [
      count(totals.threads),
      `${totals.threads === 1 ? "thread" : "threads"} on ${plural(program.cpus, "CPU", "CPUs")}, ${time(program.duration_ns)}`,
      false,
    ],
  ];
  byId("tiles").append(
    ...tiles.map(([figure, text, warm]) =>
      element("div", { class: warm ? "tile hot" : "tile" }, element("b", {}, figure), element("span", {}, text)),
    ),
  );

  byId("headlines").classList.toggle("calm", !hot && !view.deadlock);
  byId("headlines").append(...view.headlines.map((line) => element("li", {}, ...worded(line))));

  byId("verdict").append(...worded(view.verdict));
  byId("findings").append(
    ...view.findings.map((finding) => {
      const card = element(
        "article",
        { class: "finding" },
        element("h3", {}, ...worded(finding.title)),
        element("ul", {}, ...finding.evidence.map((text) => element("li", {}, ...worded(text)))),
      );
      if (finding.experiment) {
        card.append(element("p", {}, element("span", { class: "badge" }, "try"), ...worded(finding.experiment)));
      }
      if (finding.change) {
        card.append(element("p", {}, element("span", { class: "badge change" }, "change"), ...worded(finding.change)));
      }
      return card;
    }),
  );
  if (view.findings_left_out > 0) {
    byId("findings").append(
      element("p", { class: "soft small" }, `${view.findings_left_out} more, with less to gain.`),
    );
  }

  const facts = [
    ["command", element("code", {}, program.command)],
    ["process", `${program.pid}, ${program.ending} after ${time(program.duration_ns)}`],
    ["began", new Date(program.started_unix_s * 1000).toISOString().replace("T", " ").replace(".000Z", " UTC")],
    ["locks", program.policy],
    ["machine", `${program.machine}; ${plural(program.cpus, "CPU", "CPUs")} for the program`],
  ];
  byId("facts").append(...facts.flatMap(([title, text]) => [element("dt", {}, title), element("dd", {}, text)]));
  byId("limits-title").hidden = view.limits.length === 0;
  byId("limits").append(...view.limits.map((text) => element("li", {}, text)));
  byId("omitted").hidden = view.omitted.length === 0;
  byId("omitted")
    .querySelector("ul")
    .append(...view.omitted.map((text) => element("li", {}, text)));

  const sections = [
    ["advice", "Advice"],
    ["course", "Over time"],
    ...(view.scaling ? [["scaling", "More CPUs"]] : []),
    ["flame", "Flame graph"],
    ["timeline", "Timeline"],
    ["tables", "Tables"],
    ["about", "About"],
  ];
  // Which of them have anything to show, the scripts behind this one find out.
  addEventListener("DOMContentLoaded", () => {
    const there = sections.filter(([id]) => !byId(id).hidden);
    byId("nav").append(...there.map(([id, title]) => element("a", { href: `#${id}` }, title)));
  });

  // As the system has it, light, dark.
  const themes = ["auto", "light", "dark"];
  let theme = 0;
  const show = () => {
    if (theme === 0) delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = themes[theme];
    byId("theme").textContent = `Theme: ${themes[theme]}`;
  };
  byId("theme").addEventListener("click", () => {
    theme = (theme + 1) % themes.length;
    show();
  });
  show();
})();
