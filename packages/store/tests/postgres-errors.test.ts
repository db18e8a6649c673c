import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StoreError } from '@bonded/core/ports/store'
import { asStoreError, classify, ClosedConnection } from '../src/postgres/postgres-errors.ts'

const withCode = (code: string, message = 'failed') => Object.assign(new Error(message), { code })

/** What the driver and the server report while another server is promoted. */
const AT_A_PROMOTION: Readonly<Record<string, Error>> = {
  'a connection that the service closed': new ClosedConnection('another server was promoted'),
  'a write on a standby': withCode('25006'),
  'an administrator ends the connection': withCode('57P01'),
  'a crash of another backend': withCode('57P02'),
  'a server that starts': withCode('57P03'),
  'a function that a standby does not have': withCode('55000', 'recovery is in progress'),
  'a standby that cancels a statement': withCode('40001'),
  'a standby that assigns no numbers': withCode('XX000'),
  'a connection that was reset': withCode('ECONNRESET'),
  'a socket that was closed': withCode('ERR_STREAM_DESTROYED'),
  'a message behind the end': withCode('ERR_STREAM_WRITE_AFTER_END'),
  'a stream that ended early': withCode('ERR_STREAM_PREMATURE_CLOSE'),
  'a socket that ended before TLS': withCode('ERR_SOCKET_CLOSED'),
  'a driver without a connection': new Error('Connection terminated unexpectedly'),
  'a driver that has ended': new Error('Client was closed and is not queryable'),
  'a driver that waits': new Error('Query read timeout'),
}

for (const [name, failure] of Object.entries(AT_A_PROMOTION))
  test(`callers receive store_unavailable at a promotion: ${name}`, () => {
    const error = asStoreError(failure, { to: 'write', where: 'the database' })
    assert.ok(error instanceof StoreError, String(error))
    assert.equal(error.cause, failure)
  })

test('a connection that the service has closed is lost, so that its reads run again', () => {
  for (const why of ['another server was promoted', 'the server does not respond'])
    assert.equal(classify(new ClosedConnection(why)).kind, 'lost')
})

test('a mistake of the program stays one', () => {
  for (const failure of [new TypeError('no value for $1'), withCode('42601'), withCode('22P02')])
    assert.equal(asStoreError(failure, { to: 'write', where: 'the database' }), failure)
})
