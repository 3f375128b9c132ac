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

/** One thing that is measured, in a file of its own. */
export interface Figure {
  /** Names it on the command line, its notes and its profile. */
  readonly id: string;
  readonly title: string;
  readonly group: FigureResult['group'];
  /** What is done and how it is measured, for the page. */
  readonly how: string;
  /** With as many rounds as a run has by itself; it is given up after that. */
  readonly limitSeconds: number;
  /** With fewer it says nothing, and is left out. */
  readonly coresMin?: number;
  /** @throws Error when it could not be measured, saying why */
  run(fixture: Fixture): Promise<Measurement>;
}

/** What a figure is measured on. Whatever it starts there ends with it. */
export interface Fixture {
  readonly sizes: Sizes;
  /** How often each thing is measured, its yardstick beside it. */
  readonly rounds: number;
  readonly cluster: Cluster;
  /** One line of progress. */
  readonly say: (line: string) => void;
  /** The customers' side, on its origins: `https://127.0.1.1:40001`. */
  receiver(): Promise<{
    readonly process: RoleProcess<ReceiverCommands>;
    readonly origins: readonly string[];
  }>;
  /** The yardstick. */
  bare(): RoleProcess<BareCommands>;
  /** The yardstick of the API. */
  bareExpress(): RoleProcess<BareExpressCommands>;
  /** A part of the API around a bare Express route. */
  apiLayers(): RoleProcess<ApiLayersCommands>;
  /** The yardstick of the inbound process. */
  bareSmtp(): RoleProcess<BareSmtpCommands>;
  /** A service that records events of its own. */
  caller(installation: Installation, connections: number): RoleProcess<CallerCommands>;
  /** A fresh installation of the product, none of its processes started. */
  install(): Promise<Installation>;
}
