/** For an operator's log line: a customer's sentence, with the error code that the customer is not shown. */
export function withCode(words: string, code: string | undefined): string {
  return code === undefined ? words : `${words} (${code})`;
}
