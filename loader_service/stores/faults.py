"""What goes wrong with a store, in one line that names the object and the remedy. Knows no request."""

from __future__ import annotations

import errno
import re
from typing import Any

from loader_service.errors import ConfigError
from loader_service.url_secrets import whole_url, without_secrets

#: What is kept of a store's own words.
_MOST_WORDS = 160

_QUERY = re.compile(r"\?[^\s)]+")

#: What a store says when there are no credentials, or half of them; and where it asks for some on a machine of a cloud.
_NO_CREDENTIALS = (
    "Account must be specified",
    "Missing AccessKeyId",
    "Missing SecretAccessKey",
    "169.254.169.254",
    "169.254.170.2",
    "metadata.google.internal",
)

#: What is said when no connection can be made, or nothing comes.
_NO_ANSWER = ("error sending request", "operation timed out")

_ENDPOINTS = {"s3": "AWS_ENDPOINT_URL and AWS_REGION", "gs": "GOOGLE_BASE_URL", "az": "AZURE_STORAGE_ENDPOINT"}

_CREDENTIALS = {
    "s3": "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (with AWS_SESSION_TOKEN where they are temporary), or "
    "AWS_SKIP_SIGNATURE=true for a public bucket",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS, or GOOGLE_SKIP_SIGNATURE=true for a public bucket",
    "az": "AZURE_STORAGE_ACCOUNT_NAME with AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_TOKEN",
}

#: Where credentials also may lie, and are not looked for.
_NOT_READ = {
    "s3": "; files such as ~/.aws/credentials are not read",
    "az": "; AZURE_STORAGE_CONNECTION_STRING is not read",
}

#: What is said of an object that was replaced, and of bytes that are not those that were asked for.
OTHER_VERSION = "it is another object than the one that was opened"
OTHER_PART = "the answer is not the part that was asked for; check the server, and what lies between, such as a proxy"
ODD_KEY = "a key with a part that is empty, `.` or `..`, or not printable, cannot be read; rename it"


class StoreFault(OSError):
    """A request of a store failed; asked again in a moment it may succeed. `strerror` is one line."""

    number = errno.EIO

    def __init__(self, words: str) -> None:
        super().__init__(self.number, words)


class LastingFault(StoreFault):
    """A request failed, and will fail again."""

    number = errno.EOPNOTSUPP


class RefusedFault(StoreFault):
    """There is no such object, or nobody may read it: that does not pass in a moment."""


class ObjectChanged(LastingFault):
    """The object is not the one any more that was opened; opened anew it can be read."""

    number = errno.EIO


#: By what `obstore` raises.
_KINDS = {
    "PreconditionError": ObjectChanged,
    "NotSupportedError": LastingFault,
    "NotFoundError": RefusedFault,
    "FileNotFoundError": RefusedFault,
    "PermissionDeniedError": RefusedFault,
    "UnauthenticatedError": RefusedFault,
}

#: What is said of a server that does not tell how long a file or an answer is, or which part of a file it gives.
_NO_PARTS = (
    "Content-Length Header missing",
    "Content-Range header not present",
    "CONTENT_RANGE header",
    "non-partial response",
)

#: What a server answered, and the code that stores give in the body, which is not shown: it may hold anything.
_STATUS = re.compile(r"non-2xx status code: ((\d{3})[A-Za-z ]*)")
_CODE = re.compile(r"<Code>([\w.]{1,64})</Code>")

#: What stores mean by their codes. S3 says of expired tokens that the request is bad, not that it is forbidden.
_EXPIRED_CODES = ("ExpiredToken", "InvalidToken", "TokenRefreshRequired")
_MEANINGS = {
    "AuthorizationHeaderMalformed": "the bucket lies in another region; set AWS_REGION to its region",
    "PermanentRedirect": "the bucket lies in another region; set AWS_REGION to its region",
    "RequestTimeTooSkewed": "the clock of this machine is wrong; set it",
    "InvalidObjectState": "the object is archived; have the store restore it first",
}

#: What the library says, and what is meant by that.
_WORDS = {
    "redirect without LOCATION": "the server sends on, and does not say where to; check the URL, and the endpoint",
    "following redirect": "the server sends on too often, or to a host without TLS; give the URL that it leads to",
    "response body error": "the answer breaks off; check the network, and the server",
    "service account file": "GOOGLE_APPLICATION_CREDENTIALS names no JSON file with a key; set it to one",
    "as boolean": "a variable of the store, such as AWS_SKIP_SIGNATURE, is neither true nor false; set it to true",
    "Invalid Access Key": "AZURE_STORAGE_ACCOUNT_KEY is no key in base64; copy it anew",
    ": Requested ": OTHER_PART,
    "Wanted range": OTHER_PART,
    "Header missing": "the answer does not say which object it is of; check the server, and what lies between",
    "builder error": "its store cannot be asked under that name; check the URL of the endpoint",
    "Could not parse path": ODD_KEY,
    "empty path segment": ODD_KEY,
    "invalid path": "keys there have parts that are empty, `.` or `..`, or not printable; give a longer prefix",
}

_WORDS_OF_S3 = {"redirect without LOCATION": _MEANINGS["PermanentRedirect"]}


def missing_extra(url: str) -> ConfigError:
    """Return what is said where the library is not installed that reads objects."""
    return ConfigError(f"{url!r} lies in a store, which needs an extra; pip install 'loader-service[stores]'")


def fault_of(url: Any, error: Exception) -> StoreFault:
    """Return the fault that an error of `obstore` stands for.

    Parameters
    ----------
    url
        The object, a `StoreUrl`.
    error
        What was raised.
    """
    words = _explain(url, type(error).__name__, str(error)) or without_secrets(_one_line(error), str(url))
    return _KINDS.get(type(error).__name__, StoreFault)(f"{str(url)!r}: {words}")


def _explain(url: Any, kind: str, said: str) -> str | None:
    """Return what is wrong, and what to do, where that is known."""
    if kind == "PreconditionError":
        return OTHER_VERSION
    if kind == "NotSupportedError" or any(sign in said for sign in _NO_PARTS):
        return "the server gives no parts of a file; copy the file here"
    if url.scheme in _CREDENTIALS and any(sign in said for sign in _NO_CREDENTIALS):
        return f"no credentials; set {_CREDENTIALS[url.scheme]}{_NOT_READ.get(url.scheme, '')}"
    if "NoSuchBucket" in said:
        return f"there is no bucket {url.bucket!r}; check its name, and the region"
    if kind in ("NotFoundError", "FileNotFoundError"):
        what = "there is no such file" if url.is_web else f"there is no such object, or no bucket {url.bucket!r}"
        return f"{what}; check the name"
    words_of = _WORDS | _WORDS_OF_S3 if url.scheme == "s3" else _WORDS
    meant = (words for sign, words in words_of.items() if sign in said)
    return _explain_answer(url, kind, said) or next(meant, None) or _explain_silence(url, said)


def _explain_answer(url: Any, kind: str, said: str) -> str | None:
    found, coded = _STATUS.search(said), _CODE.search(said)
    status, code = found[2] if found else "", coded[1] if coded else ""
    if code in _MEANINGS:
        return _MEANINGS[code]
    is_refused = kind in ("PermissionDeniedError", "UnauthenticatedError") or status in ("401", "403")
    if is_refused or code in _EXPIRED_CODES:
        return _explain_refusal(url)
    if found is None:
        return None
    answer = f"the server answers {found[1].strip()}" + (f" ({code})" if code else "")
    if status == "400" and url.scheme == "s3":  # all that a HEAD says of an expired token
        return f"{answer}: the credentials may have expired, or AWS_REGION may be wrong; set {_CREDENTIALS['s3']}"
    may_pass = status.startswith("5") or status in ("408", "429")
    return f"{answer}; {'try again when it is well' if may_pass else 'check the URL'}"


def _explain_refusal(url: Any) -> str:
    if whole_url(str(url)) != str(url):
        return (
            "access was refused: the password in the URL is wrong, or its signature or token has expired or is not for "
            "GET; give a right one"
        )
    refused = "access was refused: the credentials have no permission to read it, or have expired"
    if url.is_web:
        return f"{refused}; give a signed URL, or one with user and password, https://user:password@host/…"
    credentials = _CREDENTIALS.get(url.scheme)
    return f"{refused}; set {credentials}" if credentials else refused


def _explain_silence(url: Any, said: str) -> str | None:
    if "InvalidCertificate" in said:
        return "the certificate of the host is not valid for it here; check the URL, and the clock of this machine"
    if not any(sign in said for sign in _NO_ANSWER):
        return None
    place = f"host {url.bucket!r}" if url.is_web else "store"
    by_name = "" if url.is_web else f", {_ENDPOINTS.get(url.scheme, 'the endpoint')}"
    return f"the {place} does not answer; check the URL{by_name}, the network, and the proxy (HTTPS_PROXY)"


def _one_line(error: Exception) -> str:
    words = " ".join(str(error).partition("\n\nDebug")[0].split())
    words = words.rpartition(" - ")[2]  # before that, which request it was
    words = _QUERY.sub("?…", words)  # may hold a token
    return words if len(words) <= _MOST_WORDS else words[:_MOST_WORDS].rstrip() + " …"
