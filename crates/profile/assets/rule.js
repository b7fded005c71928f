// ---- more about one lock: where it lies, what made it, and its rule in a policy file, to be copied ----

const showLockFacts = (() => {
  const [dialog, rule, told] = ["lock-facts", "lock-rule", "rule-shown"].map(byId);

  byId("rule-copy").addEventListener("click", async () => {
    let copied = true;
    try {
      await navigator.clipboard.writeText(rule.textContent);
    } catch {
      // Pages of files may not be let at the clipboard; what is selected may be copied all the same.
      getSelection().selectAllChildren(rule);
      copied = document.execCommand("copy");
    }
    told.textContent = copied ? "Copied." : "It is selected: copy it by the keyboard.";
  });
  byId("facts-close").addEventListener("click", () => dialog.close());
  // A click beside the box is one on the dialog itself.
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });

  return (row) => {
    const made = row.created.map(said).join(" ← ");
    const facts = [["type", row.kind], ["address", row.address], ...(made ? [["made in", made]] : [])];
    byId("facts-title").textContent = row.name;
    byId("facts-of-lock").replaceChildren(
      ...facts.flatMap(([title, text]) => [element("dt", {}, title), element("dd", {}, text)]),
    );
    byId("rule-there").hidden = byId("rule-copy").hidden = row.rule === "";
    byId("rule-none").hidden = row.rule !== "";
    rule.textContent = row.rule;
    told.textContent = "";
    dialog.showModal();
  };
})();
