import { runProof } from '../run-proof.ts'
import { relayCommand } from './command.ts'

await runProof(relayCommand())
