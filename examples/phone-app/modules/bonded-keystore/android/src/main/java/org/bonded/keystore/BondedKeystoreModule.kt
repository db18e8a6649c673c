package org.bonded.keystore

import android.app.KeyguardManager
import android.content.Context
import android.content.pm.PackageManager
import android.os.Build
import android.security.keystore.KeyGenParameterSpec
import android.security.keystore.KeyPermanentlyInvalidatedException
import android.security.keystore.KeyProperties
import android.security.keystore.StrongBoxUnavailableException
import android.security.keystore.UserNotAuthenticatedException
import android.util.Base64
import expo.modules.kotlin.exception.CodedException
import expo.modules.kotlin.exception.Exceptions
import expo.modules.kotlin.modules.Module
import expo.modules.kotlin.modules.ModuleDefinition
import java.security.KeyPairGenerator
import java.security.KeyStore
import java.security.MessageDigest
import java.security.PrivateKey
import java.security.Signature
import java.security.UnrecoverableKeyException
import java.security.spec.ECGenParameterSpec

private const val KEYSTORE = "AndroidKeyStore"
private const val ALIAS = "bonded"
private const val BASE64URL = Base64.URL_SAFE or Base64.NO_PADDING or Base64.NO_WRAP

/** An approval signs twice within a few seconds of the user's authentication. */
private const val UNLOCKED_SECONDS = 30

private class KeyMissingException(cause: Throwable? = null) :
  CodedException("ERR_KEY_MISSING", "There is no key, or the screen lock was removed.", cause)

private class KeyLockedException(cause: Throwable) :
  CodedException("ERR_KEY_LOCKED", "The user has not authenticated recently.", cause)

private class NoScreenLockException :
  CodedException("ERR_NO_SCREEN_LOCK", "The phone has no screen lock.", null)

/** One P-256 key of the Android Keystore, attested by the phone's secure hardware. */
class BondedKeystoreModule : Module() {
  override fun definition() = ModuleDefinition {
    Name("BondedKeystore")

    AsyncFunction("appIdAsync") { appId() }

    AsyncFunction("createKeyAsync") { challenge: String ->
      createKey(Base64.decode(challenge, BASE64URL))
    }

    AsyncFunction("signAsync") { message: String ->
      Base64.encodeToString(sign(Base64.decode(message, BASE64URL)), BASE64URL)
    }
  }

  private val context: Context
    get() = appContext.reactContext ?: throw Exceptions.ReactContextLost()

  /**
   * The package and the SHA-256 of the certificate by which Android identifies the app. The
   * attestation of the key has the same one: for an app whose signing key was rotated, it is the
   * first.
   */
  @Suppress("DEPRECATION", "PackageManagerGetSignatures")
  private fun appId(): String {
    val name = context.packageName
    val info = context.packageManager.getPackageInfo(name, PackageManager.GET_SIGNATURES)
    val certificate = info.signatures!!.first().toByteArray()
    val digest = MessageDigest.getInstance("SHA-256").digest(certificate)
    return name + ":" + digest.joinToString("") { "%02x".format(it) }
  }

  private fun createKey(challenge: ByteArray): List<String> {
    val keyguard = context.getSystemService(Context.KEYGUARD_SERVICE) as KeyguardManager
    if (!keyguard.isDeviceSecure) throw NoScreenLockException()
    val keyStore = KeyStore.getInstance(KEYSTORE).apply { load(null) }
    keyStore.deleteEntry(ALIAS)
    try {
      generate(challenge, inStrongBox = Build.VERSION.SDK_INT >= Build.VERSION_CODES.P)
    } catch (unavailable: StrongBoxUnavailableException) {
      generate(challenge, inStrongBox = false)
    }
    return keyStore.getCertificateChain(ALIAS).map { Base64.encodeToString(it.encoded, BASE64URL) }
  }

  private fun generate(challenge: ByteArray, inStrongBox: Boolean) {
    val spec = KeyGenParameterSpec.Builder(ALIAS, KeyProperties.PURPOSE_SIGN).apply {
      setAlgorithmParameterSpec(ECGenParameterSpec("secp256r1"))
      setDigests(KeyProperties.DIGEST_SHA256)
      setAttestationChallenge(challenge)
      setUserAuthenticationRequired(true)
      if (Build.VERSION.SDK_INT >= Build.VERSION_CODES.R) {
        setUserAuthenticationParameters(
          UNLOCKED_SECONDS,
          KeyProperties.AUTH_BIOMETRIC_STRONG or KeyProperties.AUTH_DEVICE_CREDENTIAL
        )
      } else {
        @Suppress("DEPRECATION")
        setUserAuthenticationValidityDurationSeconds(UNLOCKED_SECONDS)
      }
      if (inStrongBox) setIsStrongBoxBacked(true)
    }.build()
    KeyPairGenerator.getInstance(KeyProperties.KEY_ALGORITHM_EC, KEYSTORE).apply {
      initialize(spec)
      generateKeyPair()
    }
  }

  private fun sign(message: ByteArray): ByteArray {
    val keyStore = KeyStore.getInstance(KEYSTORE).apply { load(null) }
    try {
      val key = keyStore.getKey(ALIAS, null) as PrivateKey? ?: throw KeyMissingException()
      return Signature.getInstance("SHA256withECDSA").run {
        initSign(key)
        update(message)
        sign()
      }
    } catch (locked: UserNotAuthenticatedException) {
      throw KeyLockedException(locked)
    } catch (invalidated: KeyPermanentlyInvalidatedException) {
      throw KeyMissingException(invalidated)
    } catch (unrecoverable: UnrecoverableKeyException) {
      throw KeyMissingException(unrecoverable)
    }
  }
}
