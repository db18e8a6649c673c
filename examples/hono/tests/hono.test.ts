import { testExample } from '../../../tests/harness/example.ts'

testExample('hono')
