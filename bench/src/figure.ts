import type { Cluster } from './fixture/cluster.ts';
import type { Installation } from './fixture/installation.ts';
import type { FigureResult, Measurement } from './result/result.ts';
import type { ApiLayersCommands } from './roles/api-layers.ts';
import type { BareExpressCommands } from './roles/bare-express.ts';
import type { BareCommands } from './roles/bare-posts.ts';
import type { BareSmtpCommands } from './roles/bare-smtp.ts';
import type { CallerCommands } from './roles/caller.ts';
import type { ReceiverCommands } from './roles/receiver.ts';
import type { RoleProcess } from './roles/role-process.ts';
import type { Sizes } from './sizes.ts';

/** One measurement, in a file of its own. */
export interface Figure {
  /** The name on the command line, of its notes and of its profile. */
  readonly id: string;
  readonly title: string;
  readonly group: FigureResult['group'];
  /** The procedure and the method, for the page. */
  readonly how: string;
  /** Time limit with the default number of rounds. */
  readonly limitSeconds: number;
  /** @throws Error with the reason when it cannot be measured */
  run(fixture: Fixture): Promise<Outcome>;
}

/** The measurement of a figure. Tables and plots may be left out. */
export type Outcome = Pick<Measurement, 'checks' | 'values'> & Partial<Measurement>;

/** Starts processes and servers for one figure. All of them end with the figure. */
export interface Fixture {
  readonly sizes: Sizes;
  /** How often each value is measured, together with its yardstick. */
  readonly rounds: number;
  readonly cluster: Cluster;
  /** Prints one line of progress. */
  readonly say: (line: string) => void;
  /** Starts the customers' endpoints, at origins such as `https://127.0.1.1:40001`. */
  receiver(): Promise<{
    readonly process: RoleProcess<ReceiverCommands>;
    readonly origins: readonly string[];
  }>;
  /** The yardstick of deliveries: bare signed posts. */
  bare(): RoleProcess<BareCommands>;
  /** The yardstick of the API: bare Express. */
  bareExpress(): RoleProcess<BareExpressCommands>;
  /** Bare Express with some layers of the API. */
  apiLayers(): RoleProcess<ApiLayersCommands>;
  /** The yardstick of the inbound process: a bare smtp-server. */
  bareSmtp(): RoleProcess<BareSmtpCommands>;
  /** A service that records events in its own transactions. */
  caller(installation: Installation, connections: number): RoleProcess<CallerCommands>;
  /** A new installation of the product without running processes. */
  install(): Promise<Installation>;
}

/** Measures the rounds of a figure one after the other, and prints a line about each. */
export async function measureRounds<Round>(
  fixture: Pick<Fixture, 'rounds' | 'say'>,
  measure: () => Promise<Round>,
  describe: (round: Round) => string,
  roundsMax = Infinity,
): Promise<Round[]> {
  const count = Math.min(fixture.rounds, roundsMax);
  const rounds: Round[] = [];
  for (let number = 1; number <= count; number += 1) {
    const round = await measure();
    rounds.push(round);
    fixture.say(`round ${number} of ${count}: ${describe(round)}`);
  }
  return rounds;
}
