import type { LogFields, Logger, Metrics } from '@postrider/runtime';

/** The stages that a fault of ours can end. Deliveries have the first three; mail has all but `attempt`. */
export type Stage = 'load' | 'attempt' | 'record' | 'hand_over';

/** A fault of ours, and the stage that it ended. Its message is the message of its cause. */
export class StageFault extends Error {
  readonly stage: Stage;
  /** Log fields that name the work, as far as the stage knew them. */
  readonly ids: LogFields;

  constructor(stage: Stage, cause: unknown, ids: LogFields = {}) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.name = 'StageFault';
    this.stage = stage;
    this.ids = ids;
  }
}

/** @throws StageFault for any error of the work. */
export async function during<T>(stage: Stage, work: Promise<T>, ids?: LogFields): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw new StageFault(stage, error, ids);
  }
}

/** Handles a fault of ours: one log line and a count. The row's lease brings the work back. */
export function leaveToLease(
  { logger, metrics }: { readonly logger: Logger; readonly metrics: Metrics<'worker'> },
  work: 'delivery' | 'mail',
  ids: LogFields,
  fault: unknown,
): void {
  const {
    stage,
    cause: error,
    ids: stageIds,
  } = fault instanceof StageFault ? fault : { stage: 'other', cause: fault, ids: {} };
  metrics.workLeftToLease.inc({ work, stage });
  logger.error('work left to its lease', { ...ids, ...stageIds, stage, error });
}
