/** Stands in for the process that a `Lifecycle` of packages/runtime controls. */
export interface TestProcess {
  readonly control: {
    onSignal(listener: (signal: 'SIGTERM') => void): void;
    onFatal(): void;
    complain(): void;
    exit(code: number): void;
  };
  /** Sends one SIGTERM, however often it is called. @returns the exit code */
  readonly stop: () => Promise<number>;
}

export function createTestProcess(): TestProcess {
  let listener: ((signal: 'SIGTERM') => void) | null = null;
  const { promise: exit, resolve: exited } = Promise.withResolvers<number>();
  return {
    control: {
      onSignal: (given) => void (listener = given),
      onFatal: () => undefined,
      complain: () => undefined,
      exit: exited,
    },
    async stop() {
      listener?.('SIGTERM');
      listener = null;
      return exit;
    },
  };
}
