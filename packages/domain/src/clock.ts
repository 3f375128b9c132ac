/** The source of time. Production passes the system clock; tests pass a clock that they set. */
export interface Clock {
  now(): Date;
}
