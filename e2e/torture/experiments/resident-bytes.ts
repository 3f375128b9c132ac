import { fetchMetrics } from '@postrider/testing';
import type { SystemProcess } from '@postrider/testing';

/** The resident memory of a process, from its metrics. */
export async function residentBytes(process: SystemProcess): Promise<number> {
  return (await fetchMetrics(await process.port())).read('process_resident_memory_bytes');
}
