"""A collection of datasets as a dataset repository on the Hugging Face hub.

The hub's own client speaks its protocol (``huggingface_hub``, optional). Withdrawn versions are
deleted from the branch; the repository's history still holds them until its owner squashes it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import requests

from stream.publish import Plan
from twiki.errors import SourceError, UsageError
from twiki.windows import manifest

_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_MAX_BYTES = 16 << 20
_SECONDS = 60


class HubTarget:
    """A dataset repository on the Hugging Face hub, changed in one commit.

    Args:
        repo: ``owner/name``; made where it does not exist.
        token: a token with the right to write.
        endpoint: the hub's address.
        private: how a new repository is made.

    Raises:
        UsageError: ``repo`` has another form, or the token would travel unencrypted.
        SourceError: the hub cannot be reached or refuses.
    """

    def __init__(
        self, repo: str, token: str, *, endpoint: str = "https://huggingface.co", private: bool
    ) -> None:
        from huggingface_hub import HfApi  # noqa: PLC0415 - an optional dependency

        address = urlsplit(endpoint)
        if address.scheme != "https" and address.hostname not in _LOOPBACK:
            raise UsageError(f"{endpoint}: expected https: a token must not travel unencrypted")
        if repo.count("/") != 1:
            raise UsageError(f"{repo!r} is not a repository: expected owner/name")
        self._repo, self._token, self._endpoint = repo, token, endpoint.rstrip("/")
        self._api = HfApi(endpoint=self._endpoint, token=token, library_name="twiki")
        with _translated(repo):
            self._parent = self._head(private=private)

    def _head(self, *, private: bool) -> str | None:
        """Return the newest commit of the repository, which is made where there is none."""
        from huggingface_hub.errors import RepositoryNotFoundError  # noqa: PLC0415

        try:
            return self._api.repo_info(self._repo, repo_type="dataset").sha
        except RepositoryNotFoundError:
            self._api.create_repo(self._repo, repo_type="dataset", private=private)
            return self._api.repo_info(self._repo, repo_type="dataset").sha

    def read(self, path: str) -> bytes | None:
        """Return a file of the commit that the change will build on."""
        url = f"{self._endpoint}/datasets/{self._repo}/resolve/{self._parent}/{path}"
        headers = {"Authorization": f"Bearer {self._token}"}
        try:
            with requests.get(url, headers=headers, stream=True, timeout=_SECONDS) as answer:
                if answer.status_code == requests.codes.not_found:
                    return None
                answer.raise_for_status()
                content = b"".join(_bounded(answer, url))
        except requests.RequestException as error:
            raise SourceError(f"{url}: cannot be read: {error}") from error
        return content

    def folders(self, paths: list[str]) -> list[str]:
        """Return the folders that have a manifest."""
        with _translated(self._repo):
            return [
                path
                for path in paths
                if self._api.file_exists(self._repo, f"{path}/{manifest.NAME}", repo_type="dataset")
            ]

    def change(self, plan: Plan) -> str:
        """Make one commit on top of the one that was read; refused if another came between."""
        from huggingface_hub import CommitOperationAdd, CommitOperationDelete  # noqa: PLC0415

        operations = [
            CommitOperationAdd(path_in_repo=path, path_or_fileobj=what)
            for path, what in sorted(plan.add.items())
        ]
        deletes = [
            CommitOperationDelete(path_in_repo=f"{path}/", is_folder=True) for path in plan.delete
        ]
        with _translated(self._repo):
            commit = self._api.create_commit(
                self._repo,
                [*operations, *deletes],
                commit_message=f"Publish {plan.id}",
                repo_type="dataset",
                parent_commit=self._parent,
            )
        return str(commit.commit_url)


def _bounded(answer: requests.Response, url: str) -> Iterator[bytes]:
    size = 0
    for piece in answer.iter_content(1 << 16):
        size += len(piece)
        if size > _MAX_BYTES:
            raise SourceError(f"{url}: expected at most {_MAX_BYTES} bytes, found more")
        yield piece


@contextmanager
def _translated(repo: str) -> Iterator[None]:
    """Turn the errors of the hub's client into ours."""
    import httpx  # noqa: PLC0415 - comes with the hub's client
    from huggingface_hub.errors import HfHubHTTPError  # noqa: PLC0415

    try:
        yield
    except HfHubHTTPError as error:
        status = error.response.status_code
        if status == httpx.codes.PRECONDITION_FAILED:
            raise SourceError(f"{repo}: changed meanwhile, nothing was published: again") from error
        raise SourceError(f"{repo}: the hub answers {status}: {error.server_message}") from error
    except (httpx.HTTPError, ValueError) as error:
        raise SourceError(f"{repo}: nothing was published: {error}") from error
