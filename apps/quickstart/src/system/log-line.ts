/**
 * Text for the terminal: a warning, an error, a failed attempt, or a line that the logger did not write. Null
 * for other lines.
 */
export function terminalText(line: string): string | null {
  const entry = parse(line);
  if (entry === null) return line.trim() === '' ? null : line.trimEnd();
  if (entry['msg'] === 'delivery.attempted') return failedAttempt(entry);
  if (entry['level'] !== 'warn' && entry['level'] !== 'error') return null;
  const kind = entry['level'] === 'warn' ? 'warning' : 'error';
  const fault = faultOf(entry['error']);
  return `${kind}: ${String(entry['msg'])}${fault === null ? '' : `: ${fault}`}`;
}

/** The role that wrote the line, or null. */
export function roleOf(line: string): string | null {
  const role = parse(line)?.['service'];
  return typeof role === 'string' ? role : null;
}

/** Null when the endpoint accepted the event. */
function failedAttempt(entry: Record<string, unknown>): string | null {
  const { outcome, attempt, status, error, reason, retry_in_ms: retryInMs } = entry;
  if (outcome !== 'retry' && outcome !== 'dead') return null;
  const delivery = `${String(entry['event_type'])} ${String(entry['event_id'])} to ${String(entry['webhook_id'])}`;
  const fault = typeof error === 'string' ? error : `HTTP ${String(status)}`;
  const tenthsOfSecond = Math.round(Number(retryInMs) / 100);
  const next =
    outcome === 'dead' ? `dead letter (${String(reason)})` : `tried again in ${tenthsOfSecond / 10} s`;
  return `${delivery}, attempt ${String(attempt)} failed: ${fault}; ${next}`;
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
