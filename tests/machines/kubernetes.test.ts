/**
 * What an operator types by the guide, against an API server of Kubernetes over etcd. No node runs
 * there: `image.test.ts` runs the containers.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { walkGuide } from '../samples/guide.ts'
import { ROOT } from './copy-repository.ts'
import { debianRoot, rootsMissing } from './debian-root.ts'

const PACKAGES = ['apt', 'dpkg-dev', 'etcd-server', 'golang-go', 'kubernetes-client']

/**
 * Builds the API server from Debian's source, of which its packages have the client only. The
 * description of its types is generated first, as the makefile of the source does.
 */
const BUILD = `
  sed -n "s/^deb /deb-src /p" /etc/apt/sources.list > /etc/apt/sources.list.d/source.list
  apt-get update --quiet=2
  export GOPATH=/tmp/go GOCACHE=/tmp/cache GO111MODULE=off CGO_ENABLED=0
  mkdir --parents /tmp/go/src/k8s.io/kubernetes
  cd /tmp/go/src/k8s.io/kubernetes
  apt-get source --quiet=2 --download-only kubernetes
  tar --extract --file kubernetes_*.orig.tar.gz --strip-components=1
  types=$(grep --recursive --files-with-matches +k8s:openapi-gen= pkg staging --include=*.go \\
    --exclude-dir=code-generator --exclude-dir=sample-apiserver | xargs dirname |
    sed "s#^staging/src/#vendor/#; s#^#k8s.io/kubernetes/#" | sort --unique)
  go run ./vendor/k8s.io/kube-openapi/cmd/openapi-gen -O zz_generated.openapi -r /tmp/report \\
    -h hack/boilerplate/boilerplate.generatego.txt -p k8s.io/kubernetes/pkg/generated/openapi \\
    -i $(echo $types | tr " " ,)
  go build -o /usr/local/bin/ ./cmd/kube-apiserver
  rm --recursive /tmp/go /tmp/cache`

/** Starts the API server with one user, who may do everything. */
const START = `
  cd /tmp
  # This root has no /etc/hosts, so each address is a number.
  etcd --data-dir etcd --logger zap --log-level error --listen-client-urls http://127.0.0.1:2379 \\
    --advertise-client-urls http://127.0.0.1:2379 --listen-peer-urls http://127.0.0.1:2380 \\
    --initial-advertise-peer-urls http://127.0.0.1:2380 \\
    --initial-cluster default=http://127.0.0.1:2380 &
  echo "$KEY" > key
  echo token,operator,operator > users
  kube-apiserver --etcd-servers=http://127.0.0.1:2379 --cert-dir=. --token-auth-file=users \\
    --service-account-issuer=https://kubernetes --service-account-signing-key-file=key \\
    --service-account-key-file=key --service-cluster-ip-range=10.0.0.0/24 \\
    --authorization-mode=AlwaysAllow --disable-admission-plugins=ServiceAccount \\
    --bind-address=127.0.0.1 --advertise-address=127.0.0.1 --endpoint-reconciler-type=none 2> log &
  export KUBECONFIG=/tmp/config
  cat > config <<end
apiVersion: v1
kind: Config
clusters: [{name: test, cluster: {server: 'https://127.0.0.1:6443', insecure-skip-tls-verify: true}}]
users: [{name: test, user: {token: token}}]
contexts: [{name: test, context: {cluster: test, user: test}}]
current-context: test
end
  until kubectl get --raw /readyz > /dev/null 2>&1; do
    kill -0 $! || { tail --lines=5 log >&2; exit 1; }
    sleep 0.2
  done
  cp --recursive /srv/deploy .`

test(
  'the guide creates the namespace and the secrets of Kubernetes',
  { skip: rootsMissing(), timeout: 3_000_000 },
  () =>
    walkGuide(
      { path: 'docs/guides/operate/install.md', test: import.meta.filename },
      async (next) => {
        const root = debianRoot(PACKAGES, 'essential', 'bookworm', BUILD)
        const script = `set -eu
        ${START}
        printf 'BONDED_ROOT_KEYS=k1:AAAA\\nBONDED_DATABASE_URL=postgres://bonded@db/bonded\\n' > secret.env
        echo BONDED_DATABASE_URL=postgres://bonded_owner@db/bonded > migrate.env
        ${next()()}
        for name in bonded bonded-migrate; do
          echo RESULT $(kubectl get secret $name --namespace bonded --output 'jsonpath={.data}')
        done
        echo RESULT $(kubectl get namespace bonded --output 'jsonpath={.metadata.labels}')`
        const isolation = `--ro-bind ${root} / --ro-bind ${ROOT} /srv --tmpfs /tmp --proc /proc --dev /dev`
        const own = '--unshare-net --unshare-pid --die-with-parent --clearenv'.split(' ')
        const path = '/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
        const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
        const key = privateKey.export({ type: 'pkcs1', format: 'pem' }).toString()
        const variables = ['--setenv', 'PATH', path, '--setenv', 'KEY', key]
        const output = execFileSync(
          'bwrap',
          [...isolation.split(' '), ...own, ...variables, 'bash', '-c', script],
          { encoding: 'utf8' },
        )
        const [nodes, job, namespace] = [...output.matchAll(/^RESULT (.*)$/gm)].map(
          ([, json = '']) => JSON.parse(json),
        )
        assert.deepEqual(Object.keys(nodes).toSorted(), ['BONDED_DATABASE_URL', 'BONDED_ROOT_KEYS'])
        assert.equal(
          Buffer.from(job.BONDED_DATABASE_URL, 'base64').toString(),
          'postgres://bonded_owner@db/bonded',
        )
        assert.equal(namespace['pod-security.kubernetes.io/enforce'], 'restricted')
      },
    ),
)
