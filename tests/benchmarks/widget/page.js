// What the widget's benchmark asks of the page: when something was painted, and how long frames take.
(() => {
  const painted = [];
  const now = () => performance.timeOrigin + performance.now();
  // After the next frame: tasks that a frame's callback leaves run once it was drawn.
  const drawn = () =>
    new Promise((go) =>
      requestAnimationFrame(() => {
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = () => go(now());
        port2.postMessage(0);
      }),
    );
  new MutationObserver((changes) => {
    for (const { target } of changes) {
      if (target.dataset?.state !== "ready" || painted.some((one) => one.target === target)) continue;
      const one = { target, at: Number.NaN };
      painted.push(one);
      drawn().then((at) => {
        one.at = at;
      });
    }
  }).observe(document, { subtree: true, attributes: true, attributeFilter: ["data-state"] });

  let frames = null;
  window.bench = {
    /** How many widgets were painted since `forget`. */
    count: () => painted.filter((one) => one.at > 0).length,
    last: () => Math.max(...painted.map((one) => one.at)),
    forget: () => painted.splice(0),
    /** No cell runs. */
    idle: true,
    /** Runs the cells from `first` to `last`; answers when that was asked for. */
    run(first, last) {
      const { content } = window.jupyterapp.shell.currentWidget;
      content.deselectAll();
      content.activeCellIndex = first;
      if (last > first) content.extendContiguousSelectionTo(last);
      const started = now();
      window.bench.idle = false;
      window.jupyterapp.commands.execute("notebook:run-cell").then(() => {
        window.bench.idle = true;
      });
      return started;
    },
    /** What the cell printed. */
    printed(cell) {
      const { outputs } = window.jupyterapp.shell.currentWidget.content.widgets[cell].model;
      return outputs.toJSON().map((output) => [].concat(output.text ?? []).join("")).join("");
    },
    /** From now on; `longest` answers once nothing is laid out any more. */
    watch() {
      const seen = { longest: 0 };
      const observer = new PerformanceObserver((list) => {
        for (const { duration } of list.getEntries()) seen.longest = Math.max(seen.longest, duration);
      });
      observer.observe({ type: "longtask" });
      window.bench.longest = async () => {
        do await new Promise((go) => setTimeout(go, 500));
        while (document.querySelector("[aria-busy=true]"));
        observer.disconnect();
        return seen.longest;
      };
    },
    /** Milliseconds from asking for something until it is on the screen. */
    async timed(act) {
      await drawn();
      const started = now();
      act();
      return (await drawn()) - started;
    },
    record() {
      const own = [];
      frames = own;
      const next = (time) => {
        if (frames !== own) return;
        own.push(time);
        requestAnimationFrame(next);
      };
      requestAnimationFrame(next);
    },
    /** Milliseconds between the frames since `record`. */
    recorded() {
      const times = frames;
      frames = null;
      return times.slice(1).map((time, n) => time - times[n]);
    },
  };
})();
