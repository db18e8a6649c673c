import { leavesOf } from '../../packages/cli/src/program/audited.ts'
import { isSettingFlag } from '../../packages/cli/src/program/setting-flags.ts'
import { bondedProgram } from '../../packages/service/src/program.ts'
import type { ArgumentRegister } from './register.ts'

const ARGUMENTS = 'packages/service/tests/arguments'
const LISTS = `${ARGUMENTS}/lists.test.ts`
const TARGETS = `${ARGUMENTS}/targets.test.ts`

/** The arguments of commands, each after the words of its command: `<tenant>`, `--limit`. */
const of = (command: string, names: string) => names.split(' ').map((name) => `${command} ${name}`)
/** One reason for arguments of several commands. */
const because = (reason: string, commands: Readonly<Record<string, string>>) =>
  Object.fromEntries(
    Object.entries(commands).flatMap(([command, names]) =>
      of(command, names).map((argument) => [argument, reason]),
    ),
  )
const USER = '[subject] --subject-ref --tenant'

export const COMMAND_ARGUMENTS = {
  defined: leavesOf(await bondedProgram()).flatMap(({ path, command }) => [
    ...command.registeredArguments.map((argument) =>
      argument.required ? `${path} <${argument.name()}>` : `${path} [${argument.name()}]`,
    ),
    ...command.options
      .filter((option) => !isSettingFlag(option))
      .map(({ long }) => `${path} ${long}`),
  ]),
  tests: [
    {
      file: LISTS,
      test: 'session list leaves out what its arguments do not name',
      holds: of(
        'session list',
        '[tenant] --state --ended --subject-ref --since --until --limit --after',
      ),
    },
    {
      file: LISTS,
      test: 'session rejections leaves out what its arguments do not name',
      holds: of(
        'session rejections',
        '--tenant --subject-ref --request --session --reason --since --until --limit --after',
      ),
    },
    {
      file: LISTS,
      test: 'device list leaves out what its arguments do not name',
      holds: of('device list', '--status --subject --subject-ref --tenant --limit'),
    },
    {
      file: LISTS,
      test: 'stats leaves out what its arguments do not name',
      holds: of('stats', '[tenant] --workflow --since --by --limit'),
    },
    {
      file: LISTS,
      test: 'audit list and audit export leave out what their arguments do not name',
      holds: [
        ...of(
          'audit list',
          '--subject --device --session --subject-ref --tenant --action --since --until --after --limit',
        ),
        ...of('audit export', '--since --after'),
      ],
    },
    {
      file: TARGETS,
      test: 'a command about a tenant or a key leaves the others as they are',
      holds: [
        ...['show', 'limits', 'suspend', 'resume', 'remove'].map(
          (name) => `tenant ${name} <tenant>`,
        ),
        ...of('tenant update', '<tenant> --remove-origin --remove-workflow'),
        ...of('key issue', '<tenant> --expires --workflow'),
        ...of('key roll', '<key> --grace'),
        'key list <tenant>',
        'key revoke <key>',
      ],
    },
    {
      file: TARGETS,
      test: 'a command about a session leaves the others as they are',
      holds: [
        ...['show', 'timeline', 'tail', 'kill'].map((name) => `session ${name} <session>`),
        'receipt get <session>',
      ],
    },
    {
      file: TARGETS,
      test: 'a command about a device leaves the others as they are',
      holds: ['show', 'timeline', 'block', 'unblock', 'remove'].map(
        (name) => `device ${name} <device>`,
      ),
    },
    {
      file: TARGETS,
      test: 'a command about a user leaves others as they are, also those with the same reference',
      holds: ['show', 'block', 'unblock', 'resume-inbox'].flatMap((name) =>
        of(`subject ${name}`, USER),
      ),
    },
    {
      file: TARGETS,
      test: 'an export and an erasure have one user, and by a reference one tenant',
      holds: ['export', 'erase'].flatMap((name) => of(`subject ${name}`, USER)),
    },
    {
      file: `${ARGUMENTS}/webhooks.test.ts`,
      test: 'a command about webhooks has the tenant, endpoint, event, state and time that it names',
      holds: [
        ...of('webhook create', '<tenant> --event'),
        ...of('webhook update', '<endpoint> --event'),
        ...['delete', 'rotate', 'test'].map((name) => `webhook ${name} <endpoint>`),
        'webhook list <tenant>',
        ...of('webhook deliveries', '<tenant> --state --limit'),
        'webhook delivery <event>',
        ...of('webhook retry', '<event> --endpoint'),
        ...of('webhook recover', '<endpoint> --since'),
      ],
    },
    {
      file: 'packages/cli/tests/user/receipt.test.ts',
      test: 'receipt verify accepts a stored response or its JWS, offline, and rejects what does not verify',
      holds: of('receipt verify', '--issuer --audience --session --witness --require-witnesses'),
    },
    {
      file: 'packages/cli/tests/user/receipt.test.ts',
      test: 'receipt verify takes the receipts of a quorum together, and rejects what is not the quorum',
      holds: of('receipt verify', '--minimum --workflow --digest'),
    },
    {
      file: 'packages/cli/tests/user/receipt.test.ts',
      test: 'receipt verify-log accepts a log that only grew, and requires the witnesses that it is given',
      holds: of('receipt verify-log', '--witness --require-witnesses'),
    },
    {
      file: 'packages/sandbox/tests/phone-inbox.test.ts',
      test: 'lists the requests that wait for the user, and approves the one that is named',
      holds: ['phone inbox --approve'],
    },
    {
      file: 'packages/sandbox/tests/phone-keys.test.ts',
      test: 'adds the key of a second phone for the same user, lists both keys, and removes each',
      holds: ['phone remove-key <device>'],
    },
    {
      file: 'packages/sandbox/tests/trigger-command.test.ts',
      test: 'causes an event of a running sandbox, and says that no endpoint receives it',
      holds: ['trigger <event>', 'trigger --reason', 'open <place>'],
    },
  ],
  others: {
    '--json': 'how the result is printed',
    '--reason': 'what the audit log keeps',
    '--origin': 'where the service is, or a page of a tenant',
    ...because('how the result is printed', {
      'audit list': '--format',
      'audit export': '--format --follow',
      'receipt get': '--verify',
      completion: '<shell>',
    }),
    ...because('the file or the folder to read or to write', {
      apply: '--file',
      'audit export': '--file',
      'audit verify': '--checkpoint',
      backup: '<file> --postgres-bin',
      'ciba serve': '--config',
      doctor: '--backups',
      'phone add-key': '--new-phone',
      'receipt verify': '<files> --jwks',
      'receipt verify-log': '<older> <newer> --proof --jwks --closed',
      restore: '<file> --postgres-bin',
    }),
    ...because('how files are renamed, which audit-file.test.ts holds', {
      'audit export': '--rotate-mb --keep',
    }),
    ...because('what a tenant, a key, or an endpoint is given', {
      'tenant create':
        '--name --environment --workflow --workflow-file --session-endpoint --limit --demo --allow-similar-name',
      'tenant update':
        '--name --allow-similar-name --logo --no-logo --session-endpoint --no-session-endpoint --retention --add-origin --add-workflow --add-workflow-file',
      'tenant limits': '--limit',
      'key issue': '--kind --name',
      'webhook create': '--url --scheme --logged-characters',
      'webhook update': '--url --enable --disable --logged-characters',
      trigger: '--workflow',
    }),
    ...because('what the user reads and approves', {
      approve: '<command> --env',
      try: '[command] --agent',
    }),
    ...because('where the request is asked, and the approvals are stored', {
      approve: '--workflow --store',
    }),
    ...because('what the operator confirms', {
      apply: '--plan --allow-similar-name',
      restore: '--replace --keep-live-sessions',
      'tenant remove': '--name',
    }),
    ...because('how a program starts, and what it serves', {
      'migrate up': '--runtime-role',
      console: '--access --enroll --name --listen',
      dev: '--no-demo',
      init: '[framework] --name --port',
      listen: '--forward-to',
    }),
    ...because('what the phone of a sandbox does', {
      'clock advance': '<time>',
      'phone register': '--format',
      'phone approve': '--qr --as --no-wait',
      'phone decline': '--qr --as --no-wait',
      'phone inbox': '--no-wait',
    }),
  },
} satisfies ArgumentRegister
