import { fetchMetrics } from '@postrider/testing';
import type { SystemProcess } from '@postrider/testing';

/** The memory of a process, as it tells itself. */
export async function residentBytes(process: SystemProcess): Promise<number> {
  return (await fetchMetrics(await process.port())).read('process_resident_memory_bytes');
}
