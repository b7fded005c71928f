// ---- tables: one at a time, sorted by a click on a title, filtered by a text ----

(() => {
  const PAGE = 100;
  const all = view.totals.wait_ns;
  const text = (title, of, help) => ({ title, of, help, text: true });
  // No column, but what the filter searches, too; it is shown elsewhere.
  const aside = (of) => ({ of, text: true, aside: true });
  const number = (title, of, help) => ({ title, of, help, show: count });
  const span = (title, of, help) => ({ title, of, help, show: (value) => time(value) });
  const share = (title, part, whole, help) => ({
    title,
    help,
    of: (row) => (whole(row) ? part(row) / whole(row) : 0),
    show: (value) => percent(value, 1),
  });
  const waited = {
    ...span("waited", (row) => row.figures.wait[0], "time that threads waited, all together"),
    meter: true,
  };

  // Of a trace of futex calls, acquisitions and holds are not known.
  const ofTrace = [
    waited,
    number("waits", (row) => row.figures.contended, "futex calls that slept"),
    span("wait p50", (row) => row.figures.wait[1], "half of the waits took at most so long"),
    span("p99", (row) => row.figures.wait[2], "99 of 100 waits took at most so long"),
    span("max", (row) => row.figures.wait[3], "the longest wait"),
  ];
  const ofRecording = [
    waited,
    number("acquired", (row) => row.figures.acquisitions, "acquisitions"),
    share(
      "contended",
      (row) => row.figures.contended,
      (row) => row.figures.acquisitions,
      "acquisitions that could not be had at once",
    ),
    span("wait p50", (row) => row.figures.wait[1], "half of the waits took at most so long"),
    span("p99", (row) => row.figures.wait[2], "99 of 100 waits took at most so long"),
    span("max", (row) => row.figures.wait[3], "the longest wait"),
    span("held", (row) => row.figures.hold[0], "time held, all together; scaled up where only some holds were timed"),
    span("hold p50", (row) => row.figures.hold[1], "half of the holds took at most so long"),
    span("p99", (row) => row.figures.hold[2], "99 of 100 holds took at most so long"),
    span("max", (row) => row.figures.hold[3], "the longest hold"),
  ];
  // Of a program that was looked into while it ran, holds are those whose release others waited for.
  const held = (row, place) => (row.figures.hold[3] ? row.figures.hold[place] : null);
  const ofLive = [
    waited,
    number("waits", (row) => row.figures.contended, "waits that ended with the lock"),
    ...ofTrace.slice(2),
    span("hold p50", (row) => held(row, 1), "half of the holds that were seen took at most so long"),
    span("p99", (row) => held(row, 2), "99 of 100 holds that were seen took at most so long"),
    span("max", (row) => held(row, 3), "the longest hold that was seen"),
  ];
  const figures = view.recorded ? ofRecording : view.live ? ofLive : ofTrace;
  const holders = view.recorded || view.live;
  // Columns that say something of this run only if anything is in them.
  const rare = [
    {
      title: "reads",
      of: (row) => (row.figures.reads ? row.figures.reads / row.figures.acquisitions : null),
      show: (value) => percent(value, 1),
      help: "acquisitions for reading",
    },
    number("failed", (row) => row.figures.failed, "attempts that failed: trylock, time-outs"),
  ];
  // What happened inside the locks: null where they do not tell. Shown if any of them tells.
  const inside = [
    {
      ...number("sleeps", (row) => row.figures.sleeps, "sleeps in waits; with a +: not all waits were watched"),
      show: (value, row) => count(value) + (row.figures.sleeps_least ? "+" : ""),
    },
    number("steals", (row) => row.figures.steals, "acquisitions past threads that slept"),
    number("handed", (row) => row.figures.handoffs, "acquisitions by a hand-off"),
    number("spun in", (row) => row.figures.spins_won, "spins that ended with the lock"),
    number(
      "owner away",
      (row) => row.figures.spins_off_cpu,
      "spins not begun or given up since the owner was off its CPU, or since a sleeper went first",
    ),
    number("spun out", (row) => row.figures.spins_timed_out, "spins given up since their time was spent"),
  ];
  const says = (column, row) => (inside.includes(column) ? column.of(row) !== null : column.of(row));
  const name = (of) => (row) => said(of(row));

  const TABLES = [
    [
      "Locks",
      view.locks,
      [
        {
          ...text(
            "lock",
            (row) => row.name,
            "its variable, or where it was made or is mostly taken; a click shows its timeline",
          ),
          lock: true,
        },
        text("type", (row) => row.kind, "as the program declared it"),
        ...figures,
        ...rare,
        ...inside,
        {
          title: "more",
          of: (row) => (row.rule ? 1 : 0),
          opens: true,
          help: "where it lies, what made it, and its rule in a policy file",
        },
        aside((row) => row.address),
        aside((row) => row.created.map(said).join(" ← ")),
      ],
      view.totals.locks,
    ],
    [
      "Call sites",
      view.sites,
      [
        {
          ...text(
            "call site",
            name((row) => row.name),
            "where the lock is taken; rest the pointer on it for the whole path and the module",
          ),
          tip: (row) => [row.name, row.file, row.module].map(said).filter(Boolean).join("\n"),
        },
        text(
          "lock",
          name((row) => row.lock),
          "the lock",
        ),
        ...figures,
        ...rare,
        ...inside,
        aside(name((row) => row.file)),
        aside(name((row) => row.module)),
      ],
      view.totals.sites,
    ],
    [
      "Threads",
      view.threads,
      [
        text("thread", (row) => row.name, "its name"),
        { title: "number", of: (row) => row.tid, show: String, help: "as the system numbers it" },
        waited,
        share(
          "of its time",
          (row) => row.figures.wait[0],
          (row) => row.ended_ns - row.began_ns,
          "waited, of the time from its first lock to its end",
        ),
        ...figures.slice(1),
        ...rare,
        ...inside,
      ],
      view.totals.threads,
    ],
    [
      holders ? "Waiters and holders" : "Waiters and wakers",
      view.blocked,
      [
        text(
          "lock",
          name((row) => row.lock),
          "the lock",
        ),
        text(
          "waited in",
          name((row) => row.waiter),
          "call site of the waiter",
        ),
        text(
          holders ? "held by" : "woken by",
          name((row) => row.holder),
          holders ? "call site of the holder when the wait began" : "call site of the thread that ended the wait",
        ),
        { ...span("waited", (row) => row.wait_ns, "time waited, all together"), meter: true },
        ...(holders && !view.totals.mostly_seen
          ? [
              share(
                "of seen",
                (row) => row.wait_ns,
                () => view.totals.seen_ns,
                "of the waiting whose holder was seen",
              ),
            ]
          : []),
        number("waits", (row) => row.waits, "how often"),
        span("each", (row) => (row.waits ? row.wait_ns / row.waits : 0), "mean"),
        {
          title: "holder away",
          of: (row) => (row.looked ? row.holder_off_cpu / row.looked : null),
          show: (value) => (value === null ? "–" : percent(value, 1)),
          help: "of the waits at whose beginning somebody looked: the holder slept, or waited for a CPU",
        },
      ],
    ],
    [
      "Conditions",
      view.conditions,
      [
        text("condition variable", (row) => row.name, "its name"),
        text("mutex", (row) => (row.mutex === null ? "" : said(row.mutex)), "which its waits release"),
        number("waits", (row) => row.waits, "waits"),
        number("for nothing", (row) => row.woken_for_nothing, "woken, found nothing, waited again"),
        number("signals", (row) => row.signals, "pthread_cond_signal"),
        number("broadcasts", (row) => row.broadcasts, "pthread_cond_broadcast"),
        number("timed out", (row) => row.timed_out, "waits that ended by their time"),
        span("wait p50", (row) => row.wait[1], "half of the waits"),
        span("p99", (row) => row.wait[2], "99 of 100 waits"),
        span("max", (row) => row.wait[3], "the longest"),
        text("address", (row) => row.address, "where it lies"),
      ],
    ],
    ...(view.awaited.length > 0
      ? [
          [
            "Other waits",
            view.awaited,
            [
              text("kind", (row) => row.kind, "what it is"),
              text("awaited", (row) => row.name, "its name, or where threads sleep on it"),
              text("mostly in", (row) => said(row.site), "the call site with most of the time"),
              number("waits", (row) => row.waits, "how often"),
              span("waited", (row) => row.wait[0], "in total"),
              span("p50", (row) => row.wait[1], "half of the waits"),
              span("p99", (row) => row.wait[2], "99 of 100 waits"),
              span("max", (row) => row.wait[3], "the longest"),
              number("timed out", (row) => row.timed_out, "waits that ended without a wake-up"),
              number("wake-ups", (row) => row.wake_ups[0], "calls that were to wake"),
              number("woke nobody", (row) => row.wake_ups[1], "calls that found no thread asleep"),
              text("address", (row) => row.address, "where it lies"),
            ],
          ],
        ]
      : []),
    [
      "Cycles",
      view.cycles,
      [
        text("locks", (row) => row.map(([lock]) => said(lock)).join(" → "), "each is taken under the one before, the first under the last"),
        text("where", (row) => row.map(([, site]) => said(site)).join(" → "), "where the second is taken, the third …, and the first"),
      ],
    ],
    [
      "Shared lines",
      view.lines,
      [
        text("line", (row) => row.line, "address of the cache line"),
        text("locks", (row) => row.locks.map(said).join(", "), "the locks on it"),
        text("acquired", (row) => row.acquisitions.map(count).join(" + "), "acquisitions of each"),
      ],
    ],
  ].map(([title, rows, columns, total]) => ({
    title,
    rows,
    total: total ?? rows.length,
    texts: columns.filter((column) => column.text),
    columns: columns.filter((column) => !column.aside).filter(
      (column) => !(rare.includes(column) || inside.includes(column)) || rows.some((row) => says(column, row)),
    ),
  }));

  const scroller = byId("table").parentNode;
  let shown = TABLES[0];
  let order = { column: null, sign: -1 };
  let room = PAGE;
  let wanted = "";

  function compared(a, b) {
    const [x, y] = [order.column.of(a), order.column.of(b)];
    if (x === null || y === null) return (x === null) - (y === null); // what has no value comes last, either way
    return order.sign * (typeof x === "string" ? x.localeCompare(y, "en", { numeric: true }) : x - y);
  }

  function rows() {
    const { texts } = shown;
    const kept =
      wanted === ""
        ? shown.rows.slice()
        : shown.rows.filter((row) => texts.some((column) => column.of(row).toLowerCase().includes(wanted)));
    return order.column ? kept.sort(compared) : kept;
  }

  function cell(column, row) {
    const value = column.of(row);
    if (value === null) return element("td", {}, "–");
    if (column.opens) {
      const opener = element("button", { type: "button" }, value ? "rule" : "facts");
      opener.addEventListener("click", () => showLockFacts(row));
      return element("td", { class: "text" }, opener);
    }
    if (!column.text) {
      const node = element("td", {});
      if (column.meter && all) {
        node.className = "metered";
        node.append(element("span", { class: "meter" }, element("i", { style: `width:${(100 * value) / all}%` })));
      }
      node.append(column.meter ? element("span", {}, column.show(value, row)) : column.show(value, row));
      return node;
    }
    const place = column.lock ? view.locks.indexOf(row) : -1;
    const node = element("td", { class: "text", title: column.tip?.(row) ?? value });
    if (place < 0 || !row.charts) {
      node.append(value);
      return node;
    }
    const button = element("button", { type: "button" }, value);
    button.addEventListener("click", () => {
      if (!showLock(place)) return;
      byId("timeline").scrollIntoView();
      byId("timeline-chart").focus({ preventScroll: true });
    });
    node.append(button);
    return node;
  }

  function fill() {
    const found = rows();
    byId("table").tBodies[0].replaceChildren(
      ...found.slice(0, room).map((row) => element("tr", {}, ...shown.columns.map((column) => cell(column, row)))),
    );
    if (found.length === 0)
      byId("table").tBodies[0].append(
        element(
          "tr",
          {},
          element(
            "td",
            { class: "empty", colspan: shown.columns.length },
            shown.rows.length ? "nothing matches" : "none in this run",
          ),
        ),
      );
    byId("more").hidden = found.length <= room;
    byId("more").textContent = `Show more (${count(found.length - room)} left)`;
    const left =
      shown.total > shown.rows.length
        ? `; ${count(shown.total - shown.rows.length)} with less waiting are left out of this page`
        : "";
    // So many waits have no row, as nobody saw who had the lock.
    const { totals } = view;
    const seen =
      shown.rows === view.blocked && holders && !totals.mostly_seen
        ? `; of ${percent(totals.seen_ns, all)} of all waiting the holder was seen, the rest is in no row`
        : "";
    byId("filtered").textContent = `${count(found.length)} of ${count(shown.rows.length)}${left}${seen}`;
  }

  function head() {
    byId("table").tHead.replaceChildren(
      element(
        "tr",
        {},
        ...shown.columns.map((column) => {
          const button = element("button", { type: "button", title: column.help }, column.title);
          const th = element("th", { scope: "col", class: column.text || column.opens ? "text" : "" }, button);
          if (column === order.column) th.setAttribute("aria-sort", "descending");
          button.addEventListener("click", () => {
            // Figures start with the greatest, names with A.
            order = { column, sign: order.column === column ? -order.sign : column.text ? 1 : -1 };
            for (const other of th.parentNode.children) other.removeAttribute("aria-sort");
            th.setAttribute("aria-sort", order.sign > 0 ? "ascending" : "descending");
            fill();
          });
          return th;
        }),
      ),
    );
  }

  function show(table) {
    const first = table.columns.find((column) => column.meter || column.title === "waits") ?? null;
    [shown, order, room] = [table, { column: first, sign: -1 }, PAGE];
    tabs.forEach((tab, place) => {
      tab.setAttribute("aria-selected", String(TABLES[place] === table));
      tab.tabIndex = TABLES[place] === table ? 0 : -1;
    });
    head();
    fill();
    scroller.scrollLeft = 0;
  }

  const tabs = TABLES.map((table) => {
    const tab = element(
      "button",
      { type: "button", role: "tab", "aria-controls": "panel" },
      `${table.title} `,
      element("span", {}, count(table.total)),
    );
    tab.addEventListener("click", () => show(table));
    return tab;
  });
  byId("tabs").append(...tabs);
  byId("tabs").addEventListener("keydown", (event) => {
    const from = tabs.indexOf(document.activeElement);
    const to = {
      ArrowRight: (from + 1) % tabs.length,
      ArrowLeft: (from + tabs.length - 1) % tabs.length,
      Home: 0,
      End: tabs.length - 1,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    tabs[to].focus();
    show(TABLES[to]);
  });
  byId("filter").addEventListener("input", (event) => {
    [wanted, room] = [event.target.value.trim().toLowerCase(), PAGE];
    fill();
  });
  byId("more").addEventListener("click", () => {
    room += 5 * PAGE;
    fill();
  });

  // Where a table is wider than the window, its edge says that there is more.
  const hint = () => {
    const left = scroller.scrollWidth - scroller.clientWidth - scroller.scrollLeft;
    scroller.classList.toggle("more", left > 1);
  };
  scroller.addEventListener("scroll", hint, { passive: true });
  new ResizeObserver(hint).observe(byId("table"));
  new ResizeObserver(hint).observe(scroller);
  show(TABLES[0]);
})();
