import { testAgent } from '../../../tests/harness/example.ts'

testAgent('ai-sdk')
