/** One answer as it stood on the wire. */
export interface RawAnswer {
  readonly status: number;
  /** By names in lower case; each with every value it came with. */
  readonly headers: ReadonlyMap<string, readonly string[]>;
  readonly body: Buffer;
}

/**
 * Takes apart what a connection has answered, interim answers left out.
 *
 * @param methods of the requests in their order: the answer to a HEAD has no body.
 * @throws Error for bytes that are no answer, or half of one.
 */
export function readAnswers(received: Buffer, methods: readonly string[]): RawAnswer[] {
  const answers: RawAnswer[] = [];
  let rest = received;
  while (rest.length > 0) {
    const { answer, length } = readOne(rest, methods[answers.length] === 'HEAD');
    rest = rest.subarray(length);
    if (answer.status >= 200) answers.push(answer);
  }
  return answers;
}

function readOne(bytes: Buffer, toHead: boolean): { answer: RawAnswer; length: number } {
  const end = bytes.indexOf('\r\n\r\n');
  const [first = '', ...lines] = bytes.subarray(0, Math.max(0, end)).toString('latin1').split('\r\n');
  const status = /^HTTP\/1\.1 (\d{3}) [ -~]*$/.exec(first)?.[1];
  if (status === undefined) throw new Error(`no answer: ${bytes.subarray(0, 200).toString('latin1')}`);
  const headers = headersOf(lines);
  const rest = bytes.subarray(end + 4);
  const { body, length } = bodyOf(headers, rest);
  // What Node could not read is answered as if it had been no HEAD.
  const bodyless =
    Number(status) < 200 || (toHead && (length === 0 || rest.length < length || startsHead(rest)));
  const answer = { status: Number(status), headers, body: bodyless ? Buffer.alloc(0) : body };
  if (!bodyless && rest.length < length) throw new Error(`half an answer: ${bytes.toString('latin1')}`);
  return { answer, length: end + 4 + (bodyless ? 0 : length) };
}

function startsHead(bytes: Buffer): boolean {
  return bytes.subarray(0, 5).toString('latin1') === 'HTTP/';
}

/** @returns `length` of what it takes on the wire: longer than `bytes` when some of it is missing. */
function bodyOf(
  headers: ReadonlyMap<string, readonly string[]>,
  bytes: Buffer,
): { body: Buffer; length: number } {
  if (headers.get('transfer-encoding')?.join() !== 'chunked') {
    // Without either the body ends with the connection.
    const length = Number(headers.get('content-length')?.join() ?? bytes.length);
    return { body: bytes.subarray(0, length), length };
  }
  const chunks: Buffer[] = [];
  for (let at = 0; ;) {
    const [line, hex = ''] = /^([0-9a-f]+)\r\n/.exec(bytes.subarray(at, at + 10).toString('latin1')) ?? [];
    if (line === undefined) return { body: Buffer.alloc(0), length: Infinity };
    const size = Number.parseInt(hex, 16);
    chunks.push(bytes.subarray(at + line.length, at + line.length + size));
    at += line.length + size + 2;
    if (size === 0) return { body: Buffer.concat(chunks), length: at };
  }
}

function headersOf(lines: readonly string[]): Map<string, string[]> {
  const headers = new Map<string, string[]>();
  for (const line of lines) {
    const [, name, value] = /^([A-Za-z0-9-]+): ([ -~]*)$/.exec(line) ?? [];
    if (name === undefined || value === undefined) throw new Error(`no header: ${line}`);
    headers.set(name.toLowerCase(), [...(headers.get(name.toLowerCase()) ?? []), value]);
  }
  return headers;
}
