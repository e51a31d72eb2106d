/** The self-contained page: a capture that stands in the page itself, no kernel, no network. `#AG201-1` opens a finding. */

import { Capture } from "./model/capture";
import { type Data, decode } from "./model/decode";
import { anchorsOf } from "./model/finding_text";
import { createGraphView } from "./view/graph";
import { refusal } from "./view/refusal";
import { type Shell, shell } from "./view/shell";

function read(id: string): string {
  return document.getElementById(id)?.textContent ?? "";
}

const host = document.getElementById("root") ?? document.body;

let now: Shell;

/** "" is the capture that is shown first, "-3" that of rank 3. */
function draw(suffix: string, before?: Shell["looked"]): Data {
  const text = atob(read(`buffer${suffix}`).trim());
  // Of a large graph these are millions: Uint8Array.from() takes half a second for them.
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at);
  const data = decode(read(`payload${suffix}`), new DataView(bytes.buffer));
  const shown = shell(host, new Capture(data), {
    createGraphView,
    other: null,
    ask: null,
    before,
    chooseRank: (rank) => {
      const looked = shown.looked;
      shown.destroy();
      draw(`-${rank}`, looked);
      host.querySelector<HTMLElement>(".agi-ranks [aria-pressed=true]")?.focus();
    },
  });
  now = shown;
  return data;
}

try {
  const anchors = anchorsOf(draw("").findings);
  const follow = () => {
    const finding = anchors.indexOf(location.hash.slice(1));
    if (finding >= 0) now.choose(finding);
  };
  follow();
  addEventListener("hashchange", follow);
} catch (error) {
  host.append(refusal(error));
}
