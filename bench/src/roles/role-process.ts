import { spawn } from 'node:child_process';
import { endsWithUs } from '@postrider/testing';

/** The commands of a process of the tool. */
export type Commands = Readonly<Record<string, (argument: never) => unknown>>;

/** A message to a process of the tool, over Node's IPC channel. */
interface Request {
  readonly id: number;
  readonly command: string;
  readonly argument: unknown;
}

type Answer =
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly error: string };

/** A process of the tool. It is separate, so that its CPU time can be measured. */
export interface RoleProcess<C extends Commands> {
  readonly pid: number;
  /** @throws Error with the error of the process, or when the process has ended */
  call<K extends keyof C & string>(
    command: K,
    argument: Parameters<C[K]>[0],
  ): Promise<Awaited<ReturnType<C[K]>>>;
  close(): void;
}

interface Waiting {
  readonly resolve: (result: never) => void;
  readonly reject: (error: Error) => void;
}

/** Starts a process of the tool. @param program its bundle. @param env is added to our environment */
export function startRole<C extends Commands>(
  program: string,
  role: string,
  env: Readonly<Record<string, string>>,
): RoleProcess<C> {
  const child = spawn(process.execPath, [program, role], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    serialization: 'advanced',
  });
  const waiting = new Map<number, Waiting>();
  let lastId = 0;
  const failAll = (error: Error): void => {
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
  };
  endsWithUs(child);
  child.once('error', failAll);
  child.once('exit', (code, signal) => {
    failAll(new Error(`the ${role} process ended with ${code ?? signal ?? 'nothing'}`));
  });
  child.on('message', (message) => {
    const answer = message as Answer;
    const call = waiting.get(answer.id);
    waiting.delete(answer.id);
    if ('error' in answer) call?.reject(new Error(`${role}: ${answer.error}`));
    else call?.resolve(answer.result as never);
  });

  return {
    pid: child.pid ?? 0,
    call(command, argument) {
      return new Promise((resolve, reject) => {
        const request: Request = { id: ++lastId, command, argument };
        waiting.set(request.id, { resolve, reject });
        child.send(request, (error) => {
          if (error === null) return;
          waiting.delete(request.id);
          reject(error);
        });
      });
    },
    close: () => void child.kill('SIGKILL'),
  };
}

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
