export interface SesOptions {
  readonly region: string;
  /** Time limit of one operation: credentials, connection and every request of it included. */
  readonly timeoutMs: number;
  readonly configurationSet?: string | undefined;
  readonly connectionsMax?: number | undefined;
}
