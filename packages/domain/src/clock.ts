/** Where the time comes from. Production passes the system's clock, tests a clock they move by hand. */
export interface Clock {
  now(): Date;
}
