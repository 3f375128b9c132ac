import { html } from '@remix-run/html-template';
import type { AttemptDay, AttemptHour, AttemptSum } from '@postrider/store';
import type { Html } from './pieces.ts';
import { clockTime, count, latency, moment, percent } from './words.ts';

/** A plot in a table, or one across a card. */
export type PlotSize = 'spark' | 'wide';

const SIZES = { spark: { width: 120, height: 24 }, wide: { width: 480, height: 88 } } as const;
/** A share of failures below this is not drawn. */
const SHARE_SHOWN_MIN = 0.005;

/** `68.3 %`, or `none` without attempts. */
export function successRate({ attempts, successes }: AttemptSum): string {
  return attempts === 0 ? 'none' : percent(successes, attempts);
}

/** The share of failed attempts in each hour, from the bottom. */
export function failurePlot(day: AttemptDay, size: PlotSize): Html {
  const { height } = SIZES[size];
  const bars = day.hours.map((hour, at) => {
    if (hour.attempts === 0) return null;
    const share = failedShare(hour);
    const failedHeight = share < SHARE_SHOWN_MIN ? 0 : Math.max(1, share * height);
    const okHeight = tenths(height - failedHeight);
    const { x, width } = bar(at, day.hours.length, size);
    return html`<rect class="ok" x="${x}" y="0" width="${width}" height="${okHeight}" />${
        failedHeight === 0
          ? null
          : html`<rect
              class="no"
              x="${x}"
              y="${okHeight}"
              width="${width}"
              height="${tenths(failedHeight)}"
            />`
      }`;
  });
  return plot(size, failureLabel(day), html`${bars}`);
}

function failureLabel(day: AttemptDay): string {
  if (day.attempts === 0) return 'Attempts by hour, 24 h: none';
  const label = `Failed attempts by hour, 24 h: ${successRate(day)} of ${count(day.attempts)} succeeded`;
  const worst = day.hours
    .filter(({ attempts, successes }) => attempts > successes)
    .reduce<AttemptHour | null>(
      (most, hour) => (most === null || failedShare(hour) > failedShare(most) ? hour : most),
      null,
    );
  if (worst === null) return label;
  const failed = percent(worst.attempts - worst.successes, worst.attempts);
  return `${label}; most failed in the hour from ${clockTime(worst.beginsAt, 'minutes')}: ${failed}`;
}

function failedShare({ attempts, successes }: AttemptSum): number {
  return 1 - successes / attempts;
}

/** The latest p95 of an hour. Null: no hour has a p95. */
export function latestP95(day: AttemptDay): number | null {
  return day.hours.findLast(({ p95Ms }) => p95Ms !== null)?.p95Ms ?? null;
}

export function highestP95(day: AttemptDay): number | null {
  const values = day.hours.flatMap(({ p95Ms }) => p95Ms ?? []);
  return values.length === 0 ? null : Math.max(...values);
}

/** The p95 of each hour as a curve. An hour without attempts has no point. */
export function latencyPlot(day: AttemptDay, size: PlotSize): Html {
  const { width, height } = SIZES[size];
  const values = day.hours.flatMap(({ p95Ms }) => p95Ms ?? []);
  const latest = values.at(-1) ?? 0;
  const highest = Math.max(0, ...values);
  const median = values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0;
  // The highest point stays below the top. A flat curve runs at half the height.
  const top = Math.max(1, 1.15 * highest, 2 * median);
  const points = day.hours.flatMap(({ p95Ms }, at) =>
    p95Ms === null
      ? []
      : [{ x: tenths((at * width) / (day.hours.length - 1)), y: tenths(height - (p95Ms / top) * height) }],
  );
  const [first, last] = [points[0], points.at(-1)];
  if (first === undefined || last === undefined) return plot(size, 'p95 by hour, 24 h: none', null);
  // A single hour is a short line.
  const startX = points.length === 1 ? Math.max(0, first.x - 4) : first.x;
  const line = points.map(({ x, y }) => `L${x} ${y}`).join('');
  return plot(
    size,
    `p95 by hour, 24 h: latest ${latency(latest)}, highest ${latency(highest)}`,
    html`<path class="under" d="M${startX} ${height}L${startX} ${first.y}${line}L${last.x} ${height}Z" /><path
        class="curve"
        d="M${startX} ${first.y}${line}"
      />`,
  );
}

/** A number for each hour, as bars. */
export function countPlot(values: readonly number[], label: string): Html {
  const { height } = SIZES.wide;
  const top = Math.max(1, ...values);
  const bars = values.map((value, at) => {
    if (value === 0) return null;
    const { x, width } = bar(at, values.length, 'wide');
    const size = tenths(Math.max(1, (value / top) * height));
    return html`<rect class="no" x="${x}" y="${tenths(height - size)}" width="${width}" height="${size}" />`;
  });
  return plot('wide', label, html`${bars}`);
}

/** The first, the middle and the last hour under a wide plot. */
export function hourAxis(hours: readonly { readonly beginsAt: Date }[], now: Date): Html {
  const [first, middle, last] = [hours[0], hours[Math.floor(hours.length / 2)], hours.at(-1)];
  if (first === undefined || middle === undefined || last === undefined) return html``;
  return html`<p class="axis">
    <span>${moment(first.beginsAt, now, 'minutes')}</span><span>${clockTime(middle.beginsAt, 'minutes')}</span
    ><span>${clockTime(last.beginsAt, 'minutes')}</span>
  </p>`;
}

function bar(at: number, bars: number, size: PlotSize) {
  const step = SIZES[size].width / bars;
  return { x: tenths(at * step), width: Math.floor(step * 0.86) };
}

function plot(size: PlotSize, label: string, content: Html | null): Html {
  const { width, height } = SIZES[size];
  const kind = size === 'wide' ? 'plot wide-plot' : 'plot';
  return html`<svg
    class="${kind}"
    viewBox="0 0 ${width} ${height}"
    width="${width}"
    height="${height}"
    role="img"
    aria-label="${label}"
  >
    <path class="base" d="M0 ${height - 0.5}H${width}" />
    ${content}
  </svg>`;
}

function tenths(value: number): number {
  return Math.round(value * 10) / 10;
}
