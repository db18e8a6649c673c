import { ROUTES } from '../../packages/console/src/routes.ts'
import type { ArgumentRegister } from './register.ts'

const PAGES = 'packages/console/tests/narrowed-pages.test.ts'
const TARGETS = 'packages/console/tests/narrowed-targets.test.ts'

/** The arguments of a page, each after its path: `?since` of its query, `:tenant` of the path. */
const of = (path: string, names: string) => names.split(' ').map((name) => `${path} ${name}`)
const partsOf = (path: string) => path.split('/').filter((part) => part.startsWith(':'))
/** Every part of these paths. */
const parts = (...paths: readonly string[]) =>
  paths.flatMap((path) => partsOf(path).map((part) => `${path} ${part}`))
const DELIVERIES = '/tenants/:tenant/deliveries'

export const CONSOLE_ARGUMENTS = {
  defined: ROUTES.flatMap(({ path, query = [] }) =>
    [...partsOf(path), ...query.map((name) => `?${name}`)].map((name) => `${path} ${name}`),
  ),
  tests: [
    {
      file: PAGES,
      test: 'the changes are those that the filters name, and each is on one of the pages',
      holds: of('/changes', '?about ?action ?since ?until ?reads ?before'),
    },
    {
      file: PAGES,
      test: 'the deliveries are of the tenant and the state, and each is on one of the pages',
      holds: of(DELIVERIES, ':tenant ?state ?before'),
    },
    {
      file: PAGES,
      test: 'the rejections are those that the filters name, and each is on one of the pages',
      holds: of('/rejections', '?q ?reason ?since ?until ?after'),
    },
    {
      file: PAGES,
      test: 'the sessions are of the user, and each is on one of the pages',
      holds: of('/sessions', '?tenant ?subject_ref ?after'),
    },
    {
      file: TARGETS,
      test: 'the figures are of the tenant, the workflow, and the hours that the address names',
      holds: of('/health', '?tenant ?workflow ?span ?end'),
    },
    {
      file: TARGETS,
      test: 'the tenants are those that the search names',
      holds: of('/tenants', '?q'),
    },
    {
      file: TARGETS,
      test: 'a page about one of two shows that one',
      holds: [
        ...parts('/sessions/:session', '/devices/:device', '/tenants/:tenant'),
        ...of('/receipt', '?session'),
        ...of('/user', '?subject ?tenant ?subject_ref'),
      ],
    },
    {
      file: TARGETS,
      test: 'an action changes what its address names, and nothing that is like it',
      holds: parts(
        '/sessions/:session/end',
        '/devices/:device/block',
        '/devices/:device/unblock',
        '/users/:subject/block',
        '/users/:subject/unblock',
        '/users/:subject/resume-inbox/:tenant',
        '/tenants/:tenant/keys/:key/revoke',
        '/tenants/:tenant/suspend',
        '/tenants/:tenant/resume',
      ),
    },
    {
      file: TARGETS,
      test: 'a delivery is shown and sent again for its event, its endpoint, and its time',
      holds: parts(
        '/events/:event',
        '/events/:event/retry/:endpoint',
        '/tenants/:tenant/endpoints/:endpoint/recover/:since',
      ),
    },
  ],
  others: {},
} satisfies ArgumentRegister
