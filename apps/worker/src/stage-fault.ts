/** The stages at which a fault of ours can end work: of deliveries the first three, of mail all but `attempt`. */
export type Stage = 'load' | 'attempt' | 'record' | 'hand_over';

/** A fault of ours, and the stage of the work that it ended. It says what its cause says. */
export class StageFault extends Error {
  readonly stage: Stage;

  constructor(stage: Stage, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.name = 'StageFault';
    this.stage = stage;
  }
}

/** @throws StageFault in place of whatever the work throws. */
export async function during<T>(stage: Stage, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw new StageFault(stage, error);
  }
}
