/**
 * The text of an operator's log line: the customer's sentence with the error code that customers do not see.
 */
export function withCode(words: string, code: string | undefined): string {
  return code === undefined ? words : `${words} (${code})`;
}
