/** What the extension does beside the panel. */

import { commandsPlugin } from "./commands/commands";
import { statusPlugin } from "./commands/status";
import { toolbarPlugin } from "./commands/toolbar";
import { applyPlugin } from "./editor/apply";
import { jumpPlugin } from "./editor/jump";
import { marksPlugin } from "./editor/marks";
import { quickFixPlugin } from "./editor/quick_fix";
import { offerPlugin } from "./offer/offer_view";
import { savedPlugin } from "./saved/plugin";
import { settingsPlugin } from "./settings/settings";

export const plugins = [
  applyPlugin,
  commandsPlugin,
  jumpPlugin,
  marksPlugin,
  offerPlugin,
  quickFixPlugin,
  savedPlugin,
  settingsPlugin,
  statusPlugin,
  toolbarPlugin,
];
