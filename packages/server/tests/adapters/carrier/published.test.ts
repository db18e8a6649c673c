import assert from 'node:assert/strict'
import { test } from 'node:test'
import { vectorsMissing } from '../../../../contract/tests/vectors.ts'
import { CORRELATOR, OPERATIONS } from './fake-carrier/operations.ts'
import { publishedOperations } from './fake-carrier/published.ts'

test('the operations of the fake carrier are those of the published files of CAMARA', {
  skip: vectorsMissing,
}, () => {
  const { operations, correlators } = publishedOperations()
  assert.deepEqual(operations, OPERATIONS)
  for (const correlator of correlators) assert.deepEqual(correlator, CORRELATOR)
})
