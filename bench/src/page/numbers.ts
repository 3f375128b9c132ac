import type { Check, Value } from '../result/result.ts';

/** Three significant digits; large whole numbers in groups: 0.012, 0.70, 1.31, 45.2, 1,150. */
export function number(value: number): string {
  const size = Math.abs(value);
  if (size >= 100) return Math.round(value).toLocaleString('en');
  if (Number.isInteger(value)) return String(value);
  if (size >= 10) return value.toFixed(1);
  if (size >= 0.1) return value.toFixed(2);
  return String(Number(value.toPrecision(2)));
}

/** `1.31 × (1.00 to 1.37)`; a single run has no spread. */
export function spread({ unit, measured }: Pick<Value, 'unit' | 'measured'>): string {
  const middle = withUnit(measured.median, unit);
  if (measured.samples === 1) return middle;
  return `${middle} (${number(measured.min)} to ${number(measured.max)})`;
}

export function aim({ aim: { bound, value }, unit, judged }: Check): string {
  return `${bound} ${withUnit(value, unit)}${judged === 'worst' ? ' in every round' : ''}`;
}

function withUnit(value: number, unit: string): string {
  if (unit === '') return number(value);
  return unit.startsWith('/') ? `${number(value)}${unit}` : `${number(value)} ${unit}`;
}
