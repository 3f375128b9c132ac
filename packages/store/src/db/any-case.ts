/**
 * Returns a Postgres regular expression that matches the text in upper and lower case. Lower-casing in
 * Postgres would not do: the embedded Postgres has the locale C, which knows the case of ASCII letters only.
 */
export function anyCase(text: string): string {
  return Array.from(text, (character) => {
    const cases = new Set([character, character.toLowerCase(), character.toUpperCase()]);
    // A case of several characters, such as SS for ß, cannot stand in brackets.
    const single = [...cases].filter((each) => Array.from(each).length === 1);
    if (single.length > 1) return `[${single.join('')}]`;
    // ASCII punctuation may be an operator, so it is escaped.
    return /[!-/:-@[-`{-~]/.test(character) ? `\\${character}` : character;
  }).join('');
}
