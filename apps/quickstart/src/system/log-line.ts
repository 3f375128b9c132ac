/** Text for the terminal when a log line is a warning or an error. Null for all other lines. */
export function noteworthy(line: string): string | null {
  const entry = parse(line);
  if (entry === null) return line.trim() === '' ? null : line.trimEnd();
  if (entry['level'] !== 'warn' && entry['level'] !== 'error') return null;
  const kind = entry['level'] === 'warn' ? 'warning' : 'error';
  const fault = faultOf(entry['error']);
  return `${kind}: ${String(entry['msg'])}${fault === null ? '' : `: ${fault}`}`;
}

function faultOf(error: unknown): string | null {
  if (typeof error === 'string') return firstLine(error);
  const message = isRecord(error) ? error['message'] : null;
  return typeof message === 'string' ? firstLine(message) : null;
}

function firstLine(text: string): string {
  return text.trim().split('\n')[0] ?? '';
}

function parse(line: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(line);
    return isRecord(value) ? value : null;
  } catch {
    return null; // not from the logger: Node's own text about a crash
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
