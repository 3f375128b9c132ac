/** JSON has these characters as they are, and a terminal obeys them: DEL, C1, changes of direction. */
const OBEYED = /[\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

/** The value as JSON in one line, which may be shown in a terminal or pasted into one. */
export function terminalJson(value: object): string {
  return JSON.stringify(value).replaceAll(
    OBEYED,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
