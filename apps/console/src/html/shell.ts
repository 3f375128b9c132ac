/** A word of a shell command. A quote in it ends nothing, so a pasted command runs no text of a stranger. */
export function shellWord(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
