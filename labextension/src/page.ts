/** The self-contained page: a capture that stands in the page itself, no kernel, no network. `#AG201-1` opens a finding. */

import { Capture } from "./model/capture";
import { decode } from "./model/decode";
import { anchorsOf } from "./model/finding_text";
import { createGraphView } from "./view/graph";
import { refusal } from "./view/refusal";
import { shell } from "./view/shell";

function read(id: string): string {
  return document.getElementById(id)?.textContent ?? "";
}

const host = document.getElementById("root") ?? document.body;
try {
  const bytes = Uint8Array.from(atob(read("buffer").trim()), (c) => c.charCodeAt(0));
  const capture = new Capture(decode(read("payload"), new DataView(bytes.buffer)));
  const shown = shell(host, capture, { createGraphView, other: null, ask: null });
  const anchors = anchorsOf(capture.data.findings);
  const follow = () => {
    const finding = anchors.indexOf(location.hash.slice(1));
    if (finding >= 0) shown.choose(finding);
  };
  follow();
  addEventListener("hashchange", follow);
} catch (error) {
  host.append(refusal(error));
}
