/** Reads one sample of a process's own metrics. @param sample as `name_sum{pass="deliveries"}` @throws when it has none */
export async function readMetric(port: number, sample: string): Promise<number> {
  const answer = await fetch(`http://127.0.0.1:${port}/metrics`);
  return sampleOf(await answer.text(), sample);
}

/**
 * @param page in Prometheus' text format
 * @param sample its name, and such labels as it must have; it may have more
 */
export function sampleOf(page: string, sample: string): number {
  const [, name = '', labels = ''] = /^(\w+)(?:\{(.*)\})?$/.exec(sample) ?? [];
  const wanted = labels.split(',');
  const found = page
    .split('\n')
    .map((line) => /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line))
    .find((match) => match?.[1] === name && wanted.every((label) => (match[2] ?? '').includes(label)));
  if (found === undefined || found === null) throw new Error(`there is no metric ${sample}`);
  return Number(found[3]);
}
