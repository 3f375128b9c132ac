/** Characters that control a terminal or a log viewer: C0, DEL, C1, line separators, changes of direction. */
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;

/** Writes each control character as `\uXXXX`, as JSON does. */
export function escapeTerminalControls(text: string): string {
  return text.replaceAll(CONTROLS, (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** The value as JSON in one line, which may be shown in a terminal or pasted into one. */
export function terminalJson(value: object): string {
  return escapeTerminalControls(JSON.stringify(value));
}
