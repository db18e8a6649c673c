import { testAgent } from '../../../tests/harness/example.ts'

testAgent('openai-agents')
