import type { Answer, Commands, Request } from './protocol.ts';

/** Runs the parent's commands until the parent ends. Commands may overlap. */
export function serveRole(commands: Commands): void {
  const answer = (message: Answer): void => void process.send?.(message);
  process.on('message', ({ id, command, argument }: Request) => {
    const run = async (): Promise<unknown> => {
      const handler = commands[command];
      if (handler === undefined) throw new Error(`there is no command ${command}`);
      return handler(argument as never);
    };
    run().then(
      (result) => answer({ id, result }),
      (error: unknown) =>
        answer({ id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
    );
  });
  process.once('disconnect', () => process.exit(0));
}
