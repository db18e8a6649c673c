/**
 * A step of a unit of work. It is a generator, so that one driver can run it without a pause
 * (SQLite) and another can wait at each statement (PostgreSQL). Only the driver interprets the
 * yielded values.
 */
export type Work<T> = Generator<unknown, T, unknown>
