/** The metrics of a process at one moment, in Prometheus' text format. */
export interface MetricsPage {
  /**
   * @param sample name and required labels, such as `name_sum{pass="deliveries"}`. It may have more labels
   * @throws when there is no such sample
   */
  read(sample: string): number;
  /** Like `read`. Null: there is no such sample. */
  find(sample: string): number | null;
}

/** @param port the metrics port of the process, or the API's own port */
export async function fetchMetrics(port: number, signal?: AbortSignal): Promise<MetricsPage> {
  const answer = await fetch(`http://127.0.0.1:${port}/metrics`, signal === undefined ? {} : { signal });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`/metrics answered ${answer.status}: ${text}`);
  return parseMetrics(text);
}

export function parseMetrics(text: string): MetricsPage {
  const samples = text.split('\n').map((line) => /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line));

  function find(sample: string): number | null {
    const [, name = '', labels] = /^(\w+)(?:\{(.*)\})?$/.exec(sample) ?? [];
    const wanted = labelsIn(labels);
    const found = samples.find(
      (match) => match?.[1] === name && wanted.every((label) => labelsIn(match[2]).includes(label)),
    );
    return found == null ? null : Number(found[3]);
  }

  return {
    find,
    read(sample) {
      const value = find(sample);
      if (value === null) throw new Error(`there is no metric ${sample}`);
      return value;
    },
  };
}

/** Splits `one="1",two="2"`. A value may contain commas, and quotes after a backslash. */
function labelsIn(text = ''): string[] {
  return text.match(/\w+="(?:[^"\\]|\\.)*"/g) ?? [];
}
