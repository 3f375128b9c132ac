import type { WebhookId } from '@postrider/domain';
import type { Fixture } from '../figure.ts';
import type { Installation } from '../fixture/installation.ts';
import { monotonicMs } from '../monotonic.ts';
import type { ReceiverCommands } from '../roles/receiver.ts';
import type { RoleProcess } from '../roles/role-process.ts';
import { everyProcess, watchCpu } from './cpu-watch.ts';
import type { ByProcess } from './cpu-watch.ts';

export interface Burst {
  /** From the commit of the burst to the arrival of its last event. */
  readonly seconds: number;
  /** Seconds of CPU of each process, from the commit until the last outcome is recorded. */
  readonly cpu: ByProcess;
}

const ARRIVAL_TIMEOUT_MS = 120_000;

/** Queues new events in one transaction. Waits until all have arrived and their outcomes are recorded. */
export async function drainBurst(
  { cluster }: Pick<Fixture, 'cluster'>,
  installation: Installation,
  receiver: RoleProcess<ReceiverCommands>,
  { webhooks, count }: { readonly webhooks: readonly WebhookId[]; readonly count: number },
): Promise<Burst> {
  await receiver.call('reset', null);
  await installation.queue(webhooks, count);
  const committedAt = monotonicMs();
  const cpu = watchCpu(everyProcess({ cluster }, installation, receiver.pid));
  const endedAt = await receiver.call('reached', { count, withinMs: ARRIVAL_TIMEOUT_MS });
  await installation.drained(webhooks);
  return { seconds: (endedAt - committedAt) / 1000, cpu: cpu() };
}
