/** Runs a task once all earlier ones of the same name have ended. */
export type InTurn = <Result>(name: string, task: () => Promise<Result>) => Promise<Result>;

/** One task of a name at a time, in the order they came; those of different names do not wait for each other. */
export function createTurns(): InTurn {
  const last = new Map<string, Promise<void>>();
  return async (name, task) => {
    const result = (last.get(name) ?? Promise.resolve()).then(task);
    const ended = result.then(
      () => undefined,
      () => undefined, // the task's own affair
    );
    last.set(name, ended);
    try {
      return await result;
    } finally {
      if (last.get(name) === ended) last.delete(name);
    }
  };
}
