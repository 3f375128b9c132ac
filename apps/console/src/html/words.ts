import { cutName } from '@postrider/domain';

/** 28412 is `28,412`. @param isCut the counting ended there: `28,412+` */
export function count(value: number, isCut = false): string {
  return `${value.toLocaleString('en-US')}${isCut ? '+' : ''}`;
}

/** `1 event`, `28,412 events`. */
export function counted(value: number, noun: string, plural = `${noun}s`): string {
  return `${count(value)} ${value === 1 ? noun : plural}`;
}

/** `6.1 KiB`, `48 KiB`, `1.2 MiB`. */
export function bytes(value: number): string {
  if (value < 1024) return `${value} B`;
  const [unit, size] = value < 1024 ** 2 ? ['KiB', value / 1024] : ['MiB', value / 1024 ** 2];
  return `${size < 10 ? size.toFixed(1) : Math.round(size)} ${unit}`;
}

const CLIPPED_AT = 300;

/** Cuts a text for a list. Its sender may have written a long text. */
export function clipped(text: string): string {
  const cut = cutName(text, CLIPPED_AT);
  return cut === text ? text : `${cut}…`;
}

/** The subject of mail. A sender may leave it out, or write only white space. */
export function subjectText(subject: string | null): string {
  return subject === null || subject.trim() === '' ? 'no subject' : subject;
}

/** In seconds. */
const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

export const HOUR_MS = HOUR * 1000;
export const DAY_MS = DAY * 1000;

/** `42 s`, `1 min 26 s`, `15 min`, `1 h 31 min`, `32 d`. The second unit is left out where it says little. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  if (whole < MINUTE) return `${whole} s`;
  if (whole < 10 * MINUTE) return twoUnits(whole, { size: MINUTE, unit: 'min', smaller: 's' });
  if (whole < HOUR) return `${Math.floor(whole / MINUTE)} min`;
  if (whole < DAY) return twoUnits(Math.floor(whole / MINUTE), { size: 60, unit: 'h', smaller: 'min' });
  return `${Math.floor(whole / DAY)} d`;
}

/** `1 min 26 s`, `1 min`. @param value in smaller units; `size` of these make one unit */
function twoUnits(
  value: number,
  { size, unit, smaller }: { readonly size: number; readonly unit: string; readonly smaller: string },
): string {
  const rest = value % size;
  return `${Math.floor(value / size)} ${unit}${rest === 0 ? '' : ` ${rest} ${smaller}`}`;
}

/** `412 ms`, `30 s`, `3 min 9 s`: the time between two steps of a story. */
export function gap(milliseconds: number): string {
  return milliseconds < 1000 ? `${Math.max(0, Math.round(milliseconds))} ms` : duration(milliseconds / 1000);
}

export function ago(at: Date, now: Date): string {
  return `${duration((now.getTime() - at.getTime()) / 1000)} ago`;
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** The day on which something from `at` is deleted, if it is kept for `days` days. */
export function dayAfter(at: Date, days: number): string {
  return day(new Date(at.getTime() + days * DAY_MS));
}

/** `26 Nov 2026` */
export function day(at: Date): string {
  return `${dayOfYear(at)} ${at.getUTCFullYear()}`;
}

function dayOfYear(at: Date): string {
  return `${at.getUTCDate()} ${MONTHS[at.getUTCMonth()] ?? ''}`;
}

export type Precision = 'minutes' | 'seconds' | 'milliseconds';

/** `07:12:40`, or `07:12:40.093` with milliseconds. All times are UTC. */
export function clockTime(at: Date, precision: Precision = 'seconds'): string {
  return at.toISOString().slice(11, { minutes: 16, seconds: 19, milliseconds: 23 }[precision]);
}

/** `26 Nov 07:12:40`. The year is added only if it is not the current one. */
export function moment(at: Date, now: Date, precision: Precision = 'seconds'): string {
  const date = at.getUTCFullYear() === now.getUTCFullYear() ? dayOfYear(at) : day(at);
  return `${date} ${clockTime(at, precision)}`;
}

/** How a user may write a time. */
export const TIME_EXAMPLES = '2026-11-26 or 2026-11-26 05:41';

/**
 * `2026-11-26 05:41`, as a field and a link show a time. Seconds and milliseconds stay: without them, a list
 * or a recovery would cover another time.
 */
export function writtenTime(at: Date | undefined): string {
  if (at === undefined) return '';
  return at
    .toISOString()
    .slice(0, 23)
    .replace('T', ' ')
    .replace(/\.000$/, '')
    .replace(/:00$/, '');
}

/** `68.3 %`. It is rounded down: 100 % has no failure. */
export function percent(part: number, whole: number): string {
  return `${(Math.floor((part / whole) * 1000) / 10).toString()} %`;
}

/** `212 ms`, `10.0 s`. */
export function latency(milliseconds: number): string {
  return milliseconds < 10_000 ? `${count(milliseconds)} ms` : `${(milliseconds / 1000).toFixed(1)} s`;
}

/** Quotes a text as one word of a shell command. A quote in the text cannot end the word, so nothing runs. */
export function shellWord(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
