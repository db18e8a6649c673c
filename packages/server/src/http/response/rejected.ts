import type { Rejection } from '@bonded/core/domain/rejection'

/** Carries a rejection through fastify's hooks, which can stop a request only by an error. */
export class Rejected extends Error {
  readonly rejection: Rejection

  constructor(rejection: Rejection) {
    super(rejection.reason)
    this.rejection = rejection
  }
}
